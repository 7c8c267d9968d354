package agent

import (
	"context"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// endDrain is how long an engine may go on with its requests once the agent was
// told to end together with its engines.
const endDrain = 5 * time.Second

// engineLife is for as long as shards are looked after: as long as ctx, or, when
// engines are to be stopped at the end, until leave is called.
func (a *Agent) engineLife(ctx context.Context) (life context.Context, leave context.CancelFunc) {
	if a.cfg.StopEngines {
		ctx = context.WithoutCancel(ctx)
	}
	return context.WithCancel(ctx)
}

// stopEngines stops every engine and returns once they are gone, or could not
// be ended in time. What was desired stays written down, so that the next agent
// starts them again.
func (a *Agent) stopEngines() {
	a.mu.Lock()
	var list []*shard
	for _, s := range a.shards {
		list = append(list, s)
	}
	a.mu.Unlock()
	for _, s := range list {
		s.mu.Lock()
		d := s.want
		s.mu.Unlock()
		d.Want, d.DrainTimeout = protocol.WantStop, endDrain
		s.order(d, false)
	}
	end := time.NewTimer(endDrain + 2*a.cfg.Times.Kill)
	defer end.Stop()
	look := time.NewTicker(min(a.cfg.Times.Look, 100*time.Millisecond))
	defer look.Stop()
	for !a.allDown() {
		select {
		case <-end.C:
			a.cfg.Logger.Error("not every engine could be stopped in time")
			return
		case <-look.C:
		}
	}
}

// allDown reports whether every shard that is looked after has said that it was
// stopped. The ledger would not do: a process is started a moment before it is
// written down.
func (a *Agent) allDown() bool {
	down := map[string]bool{}
	for _, s := range a.Shards() {
		down[s.ID] = s.State == inventory.ShardStopped
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.shards {
		if !down[id] {
			return false
		}
	}
	return true
}
