package agent

import (
	"context"
	"fmt"
	"time"

	"llmgw.io/llmgw/agent/logs"
	"llmgw.io/llmgw/agent/process"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// defaultDrainTimeout is for a desired state that names none.
const defaultDrainTimeout = 5 * time.Minute

// bringDown waits for the engine's requests to end, stops it and everything it
// started, and says so. When ctx ends while it waits, the engine is left alone:
// the next agent is told again.
func (s *shard) bringDown(ctx context.Context) {
	if s.state == inventory.ShardStopped {
		return
	}
	if s.proc != nil {
		s.drain(ctx)
		if ctx.Err() != nil {
			return
		}
		e, _ := s.a.ledger.entry(s.id)
		if err := s.proc.Stop(e.Stop, s.a.cfg.Times.TermAgain, s.a.cfg.Times.Kill); err != nil {
			s.log.Error("engine not stopped", "err", err)
			s.say(inventory.ShardDraining, func(st *inventory.ShardStatus) { st.Error, st.Cause = err.Error(), string(protocol.CauseHung) })
			s.wait(ctx, time.After(s.a.cfg.Times.Retry))
			return
		}
		exit := s.proc.Exit()
		s.log.Info("engine stopped", "code", exit.Code, "signal", exit.Signal)
		s.proc = nil
	}
	s.closeGate()
	s.markDown()
	s.removeFiles()
	s.say(inventory.ShardStopped, nil)
}

func (s *shard) markDown() {
	d, _, _ := s.wish()
	s.keep(func(e *entry) {
		if e.Shard.Shard == "" {
			e.Shard = d
		}
		e.Process, e.Group, e.WasReady, e.Down = process.ID{}, nil, false, true
	})
}

// drain waits until the engine has nothing to do, or the limit has passed. An
// engine that does not say, or does not answer, is not waited for: the control
// plane has drained it by its routers' own count.
func (s *shard) drain(ctx context.Context) {
	e, ok := s.a.ledger.entry(s.id)
	engine := s.a.engines[e.Shard.Engine]
	if !ok || engine == nil || e.Shard.Rank > 0 || !e.WasReady {
		return
	}
	d, _, _ := s.wish()
	limit := d.DrainTimeout
	if limit == 0 {
		limit = defaultDrainTimeout
	}
	s.say(inventory.ShardDraining, func(st *inventory.ShardStatus) { st.Address, st.Gate = front(e) })
	end := time.NewTimer(limit)
	defer end.Stop()
	look := time.NewTicker(s.a.cfg.Times.Look)
	defer look.Stop()
	for silent := 0; silent < 3; {
		use, err := s.left(ctx, engine, e)
		switch {
		case err != nil && !s.gated():
			silent++
		case err != nil: // it counts, and says so when it gets its turn; the limit is for it, too
		case use.Running+use.Waiting <= 0:
			return
		default:
			silent = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-s.proc.Done():
			return
		case <-end.C:
			s.log.Warn("engine stopped with requests in it", "running", use.Running, "waiting", use.Waiting, "after", limit)
			return
		case <-look.C:
		}
	}
}

// gated reports whether a gate runs.
func (s *shard) gated() bool { return s.gate.proc != nil && !s.gate.proc.Ended() }

// left is what is still to be done. A gate knows it exactly, and takes nothing new.
func (s *shard) left(ctx context.Context, engine Engine, e entry) (protocol.Use, error) {
	if !s.gated() {
		return s.use(ctx, engine, e)
	}
	ctx, cancel := context.WithTimeout(ctx, max(s.a.cfg.Times.Use, time.Second))
	defer cancel()
	st, err := s.askGate().Drain(ctx, true)
	return protocol.Use{Running: int(st.InFlight)}, err
}

func (s *shard) use(ctx context.Context, engine Engine, e entry) (protocol.Use, error) {
	ctx, cancel := context.WithTimeout(ctx, s.a.cfg.Times.Use)
	defer cancel()
	return engine.Use(ctx, endpoint(e))
}

// adopt takes over what an earlier agent started. A process counts as ours when
// its number, its start time and the boot are those that were kept; whether it
// also answers as our engine is asked before it is called ready. What is not
// whole is killed whole.
func (s *shard) adopt() error {
	e, ok := s.a.ledger.entry(s.id)
	defer s.adoptGate(e)
	if s.starts = e.Starts; !ok || e.Mark == "" {
		return nil
	}
	if e.Down {
		s.say(inventory.ShardStopped, nil)
		return nil
	}
	tree := process.Tree{Leader: e.Process, Mark: e.Mark, Group: e.Group, UID: e.UID}
	if p, ok := process.Adopt(tree, s.a.cfg.Times.Look); ok {
		s.proc = p
		s.log.Info("engine adopted", "port", e.Port, "pid", e.Process.PID)
		s.say(inventory.ShardStarting, nil)
		return nil
	}
	if err := tree.Kill(); err != nil {
		s.log.Error("the rest of an engine is not stopped", "err", err)
	}
	if e.Process.PID == 0 {
		return nil // it never got as far as being started
	}
	s.keep(func(e *entry) { e.Process, e.WasReady = process.ID{}, false })
	return s.endedAway(e)
}

// keep changes the shard's entry where nothing depends on it being kept: the
// next agent finds out by itself.
func (s *shard) keep(edit func(*entry)) {
	if err := s.a.ledger.change(s.id, func(e *entry) error { edit(e); return nil }); err != nil {
		s.log.Warn("the state cannot be kept", "err", err)
	}
}

// endedAway explains an engine that ended while no agent was there.
func (s *shard) endedAway(e entry) error {
	f := &failure{lines: logs.Last(s.logPath())}
	f.Cause = protocol.CauseExited
	if e.Process.Boot != process.BootID() {
		f.Text = "the machine was restarted, and the engine with it"
		return f
	}
	f.Text = "the engine ended while the agent was not running; see its last lines"
	if engine := s.a.engines[e.Shard.Engine]; engine != nil {
		why := engine.Explain(protocol.Exit{Code: -1, Started: e.WasReady, LastLines: logs.Tail(s.logPath())})
		f.Cause, f.Text = why.Cause, fmt.Sprintf("the engine ended while the agent was not running: %s", why.Text)
	}
	return f
}
