package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"llmgw.io/llmgw/agent/fabrictest"
	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/process"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/agent/upgrade"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/inventory"
)

// Agent makes the desired state of one node true.
type Agent struct {
	cfg     Config
	engines map[catalog.Engine]Engine
	fetcher *fetch.Fetcher
	board   *board
	facts   *factsBox
	bad     badPorts
	// marks begins the mark of every process this agent's data folder knows.
	marks string
	// run names this run, for the order of what it says.
	run     string
	started atomic.Bool
	// expelled says that the node was removed from its cluster.
	expelled atomic.Bool
	// contact is when the control plane last answered, as the time since made: a
	// wall clock that is set must not make it seem away, or there.
	contact atomic.Int64
	made    time.Time
	// answered has which of beat and poll were answered.
	answered *answered
	asks     askBook
	tester   fabrictest.Tester
	used     usedBook

	prefetches *prefetches

	// ledger, cgroups, apart and spawn are set by Run before anything else begins;
	// spawn starts what outlives the order to end where engines are to be stopped.
	ledger  *ledger
	cgroups process.Cgroups
	apart   isolation
	claims  claims
	spawn   func(run func(context.Context))
	// leave ends Run with an error.
	leave context.CancelCauseFunc

	mu     sync.Mutex
	shards map[string]*shard
	work   sync.WaitGroup
}

// New checks the configuration. It touches no file and starts nothing.
func New(cfg Config) (*Agent, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	fetcher, err := fetch.New(fetch.Config{
		Dir: cfg.WeightsDirs[0], LowWaterBytes: cfg.LowWaterBytes, HTTP: cfg.HTTP, Reach: cfg.Reach, Hub: cfg.Hub, Mirror: cfg.Mirror,
		Stall: cfg.Times.Stall, Retry: cfg.Times.FetchRetry, Look: cfg.Times.Look, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &Agent{
		cfg:      cfg,
		engines:  engineMap(cfg.Engines),
		fetcher:  fetcher,
		board:    newBoard(),
		facts:    newFactsBox(),
		marks:    hashed(cfg.DataDir)[:12] + ".",
		run:      rand.Text(),
		made:     time.Now(),
		shards:   map[string]*shard{},
		answered: newAnswered(),

		prefetches: newPrefetches(),
	}, nil
}

// Run works until ctx ends, and returns nil then. Engines go on running: they
// belong to the machine, and the next Run with the same data folder adopts
// them. It returns upgrade.ErrTaken when another version is to take over, also
// before ctx ends and with engines that go on. An Agent runs once.
func (a *Agent) Run(ctx context.Context) error {
	if a.started.Swap(true) {
		return errors.New("agent: Run was called twice; make another Agent")
	}
	unlock, err := a.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := a.open(); err != nil {
		return err
	}
	a.heard()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.leave = cancel
	engines, leave := a.engineLife(ctx)
	defer leave()
	a.spawn = func(run func(context.Context)) { a.work.Go(func() { run(engines) }) }
	a.resume()
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context){a.factsLoop, a.beatLoop, a.syncLoop, a.logLoop, a.healthLoop, a.prefetchLoop} {
		loops.Go(func() { loop(ctx) })
	}
	if p := a.cfg.Provisioner; p != nil {
		loops.Go(func() {
			if err := p.Run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	if r, ok := a.cfg.Control.(interface{ Run(context.Context) error }); ok {
		loops.Go(func() {
			if err := r.Run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	<-ctx.Done()
	loops.Wait()
	if a.cfg.StopEngines {
		if !errors.Is(context.Cause(ctx), upgrade.ErrTaken) {
			a.stopEngines()
		}
		leave()
	}
	a.work.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// lock keeps a second agent off the data folder. One that is just ending is
// waited for: an upgrade starts the new before the old has quite gone.
func (a *Agent) lock(ctx context.Context) (func(), error) {
	if err := os.MkdirAll(a.cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("agent: the data folder cannot be made: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(a.cfg.DataDir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("agent: the data folder cannot be used: %w", err)
	}
	for end := time.Now().Add(30 * time.Second); ; {
		held, err := durable.TryLock(f)
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("agent: the data folder cannot be locked: %w", err)
		}
		if held {
			return func() { _ = f.Close() }, nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			_ = f.Close()
			return nil, fmt.Errorf("agent: another agent works with %s; stop it, or give this one another data folder", a.cfg.DataDir)
		}
		time.Sleep(min(a.cfg.Times.Look, 500*time.Millisecond))
	}
}

// open reads what an earlier agent kept and kills what it had no time to keep.
func (a *Agent) open() error {
	l, warning, err := openLedger(a.cfg.DataDir)
	if err != nil {
		return err
	}
	if warning != "" {
		a.cfg.Logger.Error("the agent has lost its memory", "err", warning)
	}
	a.ledger = l
	a.cgroups = process.FindCgroups(a.cfg.CgroupParent)
	if err := a.isolate(); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, id := range l.ids() {
		if e, ok := l.entry(id); ok {
			known[e.Mark], known[e.Gate.Mark] = true, true
			if e.Mark != "" && !e.Down {
				a.claims.keep(id, e.Shard.Devices) // until it is seen what became of its engine
			}
		}
	}
	a.cgroups.Prune(a.groupName(""))
	if n := process.KillStrays(a.marks, known); n > 0 {
		a.cfg.Logger.Warn("engines without a record were stopped", "count", n)
	}
	return nil
}

// resume goes on with what was desired before the agent ended, without waiting
// for the control plane.
func (a *Agent) resume() {
	d := a.ledger.desired()
	for _, id := range a.ledger.ids() {
		if e, ok := a.ledger.entry(id); ok && !has(d.Shards, id) {
			e.Shard.Shard, e.Shard.Want = id, protocol.WantStop
			a.begin(e.Shard).order(e.Shard, true)
		}
	}
	a.direct(d)
}

// direct makes a desired state the one that is worked to.
func (a *Agent) direct(d protocol.Desired) {
	if a.cfg.Provisioner != nil {
		a.cfg.Provisioner.Want(d.Engines)
	}
	a.prefetches.order(d.Fetch)
	for _, s := range d.Shards {
		a.begin(s).order(s, false)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, s := range a.shards {
		if !has(d.Shards, id) {
			s.order(protocol.DesiredShard{}, true)
		}
	}
}

// begin finds the shard's worker, or starts one.
func (a *Agent) begin(d protocol.DesiredShard) *shard {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.shards[d.Shard]
	if s == nil {
		s = newShard(a, d)
		a.shards[d.Shard] = s
		a.spawn(s.run)
	}
	return s
}

// dropped is called by a shard that is gone. If it came back into the list
// meanwhile, the next poll begins it anew.
func (a *Agent) dropped(s *shard) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.shards, s.id)
}

func has(list []protocol.DesiredShard, id string) bool {
	for _, s := range list {
		if s.Shard == id {
			return true
		}
	}
	return false
}

// heard notes that the control plane has answered.
func (a *Agent) heard() { a.contact.Store(int64(time.Since(a.made))) }

// away reports whether the control plane has been silent for so long that the
// agent decides about failed engines itself.
func (a *Agent) away() bool {
	return time.Since(a.made)-time.Duration(a.contact.Load()) >= a.cfg.Times.Away
}

// Shards is what the agent says of its shards now, ordered by id. It may be
// called at any time.
func (a *Agent) Shards() []inventory.ShardStatus {
	list, _ := a.board.all()
	return list
}
