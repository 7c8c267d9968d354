package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"llmgw.io/llmgw/agent/logs"
	"llmgw.io/llmgw/agent/process"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// defaultStartTimeout is for a desired state that names none.
const defaultStartTimeout = 10 * time.Minute

// watch waits until a started engine is ready and looks after it from then on.
// It returns nil when the shard should stop, an error when it failed.
func (s *shard) watch(ctx context.Context) error {
	up, cancel := s.running(ctx)
	defer cancel()
	e, ok := s.a.ledger.entry(s.id)
	engine := s.a.engines[e.Shard.Engine]
	if !ok || engine == nil {
		return s.end(failed(protocol.CauseEngine, "the engine that runs is none this agent knows; it is stopped"))
	}
	if s.state != inventory.ShardReady && s.state != inventory.ShardDraining {
		err := s.untilReady(up, engine, e)
		if err != nil || up.Err() != nil {
			return unlessOver(up, err)
		}
	}
	if e, err := s.openGate(up, e); err != nil {
		if up.Err() != nil {
			return nil
		}
		return s.end(asFailure(err))
	} else if up.Err() == nil {
		return unlessOver(up, s.serve(up, engine, e))
	}
	return nil
}

// unlessOver tells a failure from the end of the agent or of the wish, which is
// none.
func unlessOver(up context.Context, err error) error {
	if up.Err() == nil {
		return err
	}
	return nil
}

// end kills the tree for a reason that is the failure's.
func (s *shard) end(f *failure) error {
	f.lines = logs.Last(s.logPath())
	if err := s.proc.Kill(); err != nil {
		f.Text += "; " + err.Error()
	}
	s.proc = nil
	return f
}

// exited explains an end that nobody asked for. It is a failure whatever the
// exit code: engines end with 0 after their worker died.
func (s *shard) exited(engine Engine, started bool) error {
	exit := s.proc.Exit()
	exit.Started, exit.LastLines = started, logs.Tail(s.logPath())
	why := engine.Explain(exit)
	if err := s.proc.Sweep(); err != nil {
		why.Text += "; " + err.Error()
	}
	s.proc = nil
	if why.Cause == protocol.CausePort {
		if e, ok := s.a.ledger.entry(s.id); ok {
			s.a.bad.add(e.Port)
		}
	}
	return &failure{Failure: why, lines: logs.Last(s.logPath())}
}

// untilReady asks until the engine generates, ends or takes too long.
func (s *shard) untilReady(ctx context.Context, engine Engine, e entry) error {
	limit := e.Shard.StartTimeout
	if limit == 0 {
		limit = defaultStartTimeout
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	ask := time.NewTicker(s.a.cfg.Times.Ready)
	defer ask.Stop()
	for {
		err := s.ready(ctx, engine, e)
		if s.proc.Ended() {
			return s.exited(engine, false)
		}
		if err == nil {
			return nil
		}
		if s.servesAlready(ctx, engine, e, err) {
			return nil
		}
		if errors.Is(err, protocol.ErrForeign) {
			s.a.bad.add(e.Port)
			return s.end(failed(protocol.CauseForeign, fmt.Sprintf("another program answers on port %d, where the engine should; the next start takes another port", e.Port)))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.proc.Done():
			return s.exited(engine, false)
		case <-late.C:
			return s.end(failed(protocol.CauseTimeout, fmt.Sprintf("the engine was not ready within %s (%v); raise start_timeout if it only needs longer, or see its log", limit, err)))
		case <-ask.C:
		}
	}
}

// servesAlready reports whether an adopted engine that was ready is only too busy
// for the probe. It is looked after from then on like any other.
func (s *shard) servesAlready(ctx context.Context, engine Engine, e entry, err error) bool {
	if !s.proc.Adopted() || !e.WasReady || errors.Is(err, protocol.ErrForeign) || e.Shard.Rank > 0 {
		return false
	}
	use, err := s.use(ctx, engine, e)
	return err == nil && use.Running > 0
}

// ready asks once. It takes less than a probe's interval: an answer that does not
// come must be counted before the next probe is due, or that one is left out.
// Shards that follow a leader listen nowhere: for them to run is all there is.
func (s *shard) ready(ctx context.Context, engine Engine, e entry) error {
	if e.Shard.Rank > 0 {
		return nil
	}
	// Asking tells the engine's key, so whoever took the port first is not asked.
	if at, err := netip.ParseAddrPort(endpoint(e).Address); err == nil {
		if ours, held := s.proc.Listens(at); held && !ours {
			return protocol.ErrForeign
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.a.cfg.Times.Probe*3/4)
	defer cancel()
	return engine.Ready(ctx, endpoint(e))
}

// serve says that the shard is up, if it has not been said, and looks after it.
func (s *shard) serve(ctx context.Context, engine Engine, e entry) error {
	if s.state != inventory.ShardReady && s.state != inventory.ShardDraining {
		s.keep(func(e *entry) { e.WasReady = true })
		s.backOff = s.a.cfg.Times.Retry
		address, gated := front(e)
		s.log.Info("engine ready", "address", address, "gate", gated, "adopted", s.proc.Adopted())
		s.sayUp(e, nil, "")
	}
	s.tendGate(ctx)
	return s.whileReady(ctx, engine, e)
}

// sayUp reports a shard that serves: ready, or draining when that is wanted.
// trouble is what it lacks though it serves; empty: nothing.
func (s *shard) sayUp(e entry, use *inventory.ShardUse, trouble string) {
	d, stop, _ := s.wish()
	state := inventory.ShardReady
	if stop || d.Want == protocol.WantDrain {
		state = inventory.ShardDraining
	}
	s.say(state, func(st *inventory.ShardStatus) {
		if st.Use, st.Error = use, trouble; e.Shard.Rank == 0 {
			st.Address, st.Gate = front(e)
			st.Adapters = loadedAdapters(e, d.Adapters)
		}
	})
}

// whileReady measures, probes and reports until the engine ends or hangs.
func (s *shard) whileReady(ctx context.Context, engine Engine, e entry) error {
	use, probe := time.NewTicker(s.a.cfg.Times.Use), time.NewTicker(s.a.cfg.Times.Probe)
	defer use.Stop()
	defer probe.Stop()
	pulse := newPulse(s.a.cfg.Times.Probe)
	asked := make(chan error, 1)
	asking := false
	meter := process.NewMeter(s.proc)
	adapters := newAdapterChange(s.a.cfg.Times.Retry)
	var last *inventory.ShardUse
	for {
		adapters.begin(ctx, s, engine, e)
		select {
		case <-ctx.Done():
			return nil
		case <-s.proc.Done():
			return s.exited(engine, true)
		case <-s.gateDone():
			var err error
			if e, err = s.reopenGate(ctx, e); err != nil {
				return err
			}
			s.sayUp(e, last, adapters.trouble)
		case <-s.kick:
			s.sayUp(e, last, adapters.trouble)
			s.tendGate(ctx)
		case now := <-adapters.done:
			e = adapters.end(s, e, now, s.a.cfg.Times.RetryMax)
			s.sayUp(e, last, adapters.trouble)
		case <-use.C:
			last = s.measure(ctx, engine, e, meter, pulse)
			s.sayUp(e, last, adapters.trouble)
			s.tendGate(ctx)
		case <-probe.C:
			if !asking {
				asking = true
				go func() { asked <- s.ready(ctx, engine, e) }()
			}
		case err := <-asked:
			asking = false
			if hung := pulse.probed(err, time.Now()); hung {
				return s.end(failed(protocol.CauseHung, fmt.Sprintf("the engine runs but generates nothing (%v); it was stopped, see its last lines", err)))
			}
		}
	}
}

// measure asks for the load and looks at the process. Nil: nothing is known.
func (s *shard) measure(ctx context.Context, engine Engine, e entry, m *process.Meter, p *pulse) *inventory.ShardUse {
	use := &inventory.ShardUse{Running: -1, Waiting: -1}
	use.MemoryBytes, use.CPUCores = m.Read(time.Now())
	if e.Shard.Rank > 0 {
		return use
	}
	ctx, cancel := context.WithTimeout(ctx, s.a.cfg.Times.Use)
	defer cancel()
	if u, err := engine.Use(ctx, endpoint(e)); err == nil {
		use.Running, use.Waiting, use.KVUse, use.PrefixHits = u.Running, u.Waiting, u.KVUse, u.PrefixHits
	}
	p.busy = use.Running > 0
	if c, ok := engine.(Progress); ok {
		if n, err := c.Generated(ctx, endpoint(e)); err == nil {
			p.generated(n, time.Now())
		}
	}
	return use
}
