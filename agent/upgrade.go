package agent

import (
	"context"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/agent/upgrade"
)

// answerUpgrade has another version brought. When that was taken the answer is
// sent first, and then the agent ends.
func (a *Agent) answerUpgrade(ctx context.Context, ask protocol.Ask) {
	var args protocol.UpgradeArgs
	if !a.arguments(ctx, ask, &args) {
		return
	}
	if a.cfg.Upgrader == nil {
		a.refuse(ctx, ask, "this agent does not upgrade itself; install the version on its machine")
		return
	}
	bounded, cancel := context.WithTimeout(ctx, protocol.UpgradeTime)
	defer cancel()
	last := a.cfg.Upgrader.Status()
	if err := a.cfg.Upgrader.Upgrade(bounded, args.Version); err != nil {
		a.refuse(ctx, ask, err.Error())
		return
	}
	// Whether anybody hears it or not, what is written down is to happen.
	said, cancel := context.WithTimeout(ctx, a.cfg.Times.Request)
	defer cancel()
	a.report(said, ask, protocol.UpgradeResult{From: a.cfg.Version, To: args.Version, Last: last})
	a.leave(upgrade.ErrTaken)
}

// byBeat and byPoll are how the control plane answers. A poll that it took counts
// before it is answered, which may be half a minute later.
const (
	byBeat = 1 << iota
	byPoll
)

// answered notes what the control plane has answered in this run.
type answered struct {
	mu   sync.Mutex
	seen int
	both chan struct{} // closed once both were
}

func newAnswered() *answered { return &answered{both: make(chan struct{})} }

func (b *answered) note(how int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.seen
	if b.seen |= how; before != byBeat|byPoll && b.seen == byBeat|byPoll {
		close(b.both)
	}
}

// healthLoop says that this version works once the control plane has answered it,
// again and again until that is kept: a version on trial is taken back otherwise.
func (a *Agent) healthLoop(ctx context.Context) {
	if a.cfg.Upgrader == nil {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-a.answered.both:
	}
	for {
		err := a.cfg.Upgrader.Healthy()
		if err == nil {
			return
		}
		a.cfg.Logger.Error("an upgrade cannot be ended", "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(a.cfg.Times.Retry):
		}
	}
}
