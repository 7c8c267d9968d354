package inventory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
)

// RegistryConfig is what a Registry needs.
type RegistryConfig struct {
	// Store keeps what people set. Required.
	Store Store
	// Holds keeps the holds of places. Nil: nothing can be held.
	Holds HoldStore
	// UnreachableAfter and LostAfter are the silences after which a node counts
	// as such. Default 15 and 60 seconds.
	UnreachableAfter time.Duration
	LostAfter        time.Duration
	// ClassAliases are other names for classes of devices: what a node reports by
	// an alias is known by its class. Not changed after NewRegistry.
	ClassAliases ClassAliases
	// Fabrics name ports. Nil: they have the names that their agents say.
	Fabrics []FabricRule
	// Cut ends what a node still sends. [Registry.Forget] calls it before the node
	// leaves the snapshot, so that no late report brings it back. Nil: nothing
	// sends on its own.
	Cut func(NodeID)
	// Logger nil is silent.
	Logger *slog.Logger
}

// Registry is the live inventory. It may be used by any number of goroutines at
// once; no method holds its lock while it calls the store.
//
// Every change copies the one node it touches and publishes a new [Snapshot],
// so that readers never wait and never see half of a change.
type Registry struct {
	store Store
	holds HoldStore
	cut   func(NodeID)
	alias ClassAliases
	names *FabricNames
	log   *slog.Logger
	tick  time.Duration

	// holding keeps changes of holds one after the other, here and in the store.
	holding sync.Mutex

	snapshot atomic.Pointer[Snapshot]

	mu      sync.Mutex
	changed chan struct{}
	silence silence
	// quiet are beats since the last Tick that changed nothing but the time at
	// which a node was last seen, and its measurement. Tick publishes them together.
	quiet map[NodeID]beat
}

// NewRegistry loads the known nodes; they count as unreachable, from now on,
// until they are heard.
func NewRegistry(ctx context.Context, cfg RegistryConfig, now time.Time) (*Registry, error) {
	if cfg.UnreachableAfter == 0 {
		cfg.UnreachableAfter = 15 * time.Second
	}
	if cfg.LostAfter == 0 {
		cfg.LostAfter = 60 * time.Second
	}
	if cfg.Cut == nil {
		cfg.Cut = func(NodeID) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	names, err := NewFabricNames(cfg.Fabrics)
	if err := errors.Join(cfg.check(), err); err != nil {
		return nil, err
	}
	rows, err := cfg.Store.ListNodeSettings(ctx)
	if err != nil {
		return nil, fmt.Errorf("inventory: load the known nodes: %w", err)
	}
	tick := min(time.Second, cfg.UnreachableAfter/15)
	r := &Registry{
		store: cfg.Store, holds: cfg.Holds, cut: cfg.Cut, alias: cfg.ClassAliases, names: names, log: cfg.Logger, tick: tick,
		changed: make(chan struct{}),
		silence: newSilence(cfg.UnreachableAfter, cfg.LostAfter, tick, now),
		quiet:   map[NodeID]beat{},
	}
	nodes := make([]*Node, len(rows))
	for i, s := range rows {
		nodes[i] = unheard(s)
		nodes[i].Version = 1
		r.silence.begin(s.Node, now)
	}
	r.snapshot.Store(NewSnapshot(1, nodes))
	if err := r.loadHolds(ctx, now); err != nil {
		return nil, fmt.Errorf("inventory: load the holds: %w", err)
	}
	return r, nil
}

func (cfg RegistryConfig) check() error {
	var bad []error
	if cfg.Store == nil {
		bad = append(bad, errors.New("inventory: RegistryConfig.Store is missing: give it where people's settings of nodes are kept"))
	}
	if cfg.UnreachableAfter < 15*time.Millisecond {
		bad = append(bad, fmt.Errorf("inventory: RegistryConfig.UnreachableAfter is %s: give it 15 ms or more, or zero for 15 s", cfg.UnreachableAfter))
	}
	if cfg.LostAfter <= cfg.UnreachableAfter {
		bad = append(bad, fmt.Errorf("inventory: RegistryConfig.LostAfter is %s and must be longer than UnreachableAfter, %s", cfg.LostAfter, cfg.UnreachableAfter))
	}
	return errors.Join(bad...)
}

// Run lets silence grow: it marks nodes unreachable and lost, lets holds begin
// and end, and sweeps those that ended, by the real clock, until ctx ends.
func (r *Registry) Run(ctx context.Context) error {
	t := time.NewTicker(r.tick)
	defer t.Stop()
	var sweep sync.WaitGroup
	defer sweep.Wait()
	sweep.Go(func() { r.sweepHolds(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			// The ticker's own time may be old after a stall; the silence of a
			// node is measured by what the clock says now.
			r.Tick(time.Now())
		}
	}
}

// Tick does once, for a given time, what Run does about once a second. A step of
// much more than that is taken for a stall of this process, in which no beat
// could be heard, and is not held against any node.
func (r *Registry) Tick(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stalled := r.silence.advance(now); stalled > 0 {
		r.log.Warn("this process stood still; its nodes are given that time again", "stalled", stalled.Round(time.Millisecond))
	}
	e, measured := r.edit(), false
	for _, n := range r.Snapshot().nodes {
		hearing := r.silence.hearing(n.ID, n.Hearing, now)
		b, beaten := r.quiet[n.ID]
		if hearing == n.Hearing && !beaten {
			continue
		}
		next := *n
		if beaten {
			next.LastSeen, next.ClockSkew = b.at, b.skew
			b.measure(&next)
			measured = measured || b.sample != nil
		}
		if next.Hearing = hearing; hearing != n.Hearing {
			r.log.Warn("node is silent", "node", string(n.ID), "state", string(next.State()))
		}
		e.put(&next, hearing != n.Hearing)
	}
	clear(r.quiet)
	e.passTime(now)
	if e.touched {
		r.publish(e, e.decisive || measured)
	}
}

// Snapshot is the newest world. It never blocks. The time at which a node was
// last seen, and its measurement, may be older than the truth by about a second:
// beats that change nothing else are published together.
func (r *Registry) Snapshot() *Snapshot { return r.snapshot.Load() }

// Changed returns a channel that is closed at the next change of any node,
// shard states included. Take it before the snapshot.
func (r *Registry) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Apply takes a report of a node at a time. A node that is not known is made
// known. It never blocks on the store. What the report points to belongs to the
// registry from then on.
func (r *Registry) Apply(id NodeID, rep Report, now time.Time) {
	rep.Facts = r.alias.facts(rep.Facts)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silence.begin(id, now)
	old := r.Snapshot().Node(id)
	if old == nil {
		old = unheard(NodeSettings{Node: id})
		r.log.Info("node is new", "node", string(id))
	}
	rep.Facts = r.named(old, rep.Facts)
	next, effect := rep.apply(old, now)
	if effect <= effectLater {
		r.quiet[id] = r.quiet[id].with(next, rep.Sample)
		return
	}
	if rep.Sample == nil {
		r.quiet[id].measure(next)
	}
	delete(r.quiet, id)
	r.sayHeard(old, next)
	e := r.edit()
	e.put(next, effect == effectDecisive)
	r.publish(e, true)
}

// named are facts with the names that its rules give to ports. What it is given
// is not changed.
func (r *Registry) named(n *Node, f *Facts) *Facts {
	if r.names == nil || f == nil {
		return f
	}
	c := *n
	c.Facts = *f
	r.names.name(&c)
	return &c.Facts
}

// sayHeard logs what a report changed in how far a node can be relied on.
func (r *Registry) sayHeard(old, next *Node) {
	if old.Hearing != Heard {
		r.log.Info("node is heard", "node", string(next.ID), "state", string(next.State()))
	}
	was, is := old.Clock(), next.Clock()
	if was == is {
		return
	}
	switch is {
	case ClockGood:
		r.log.Info("node's clock is right again", "node", string(next.ID))
	case ClockOff:
		r.log.Warn("node's clock is off; set it, or placement there ends at 5 minutes", "node", string(next.ID), "skew", next.ClockSkew)
	case ClockWrong:
		r.log.Error("node's clock is more than 5 minutes off; nothing is placed there until it is set", "node", string(next.ID), "skew", next.ClockSkew)
	}
}

// Reserve makes all allocations, or none: every touched node must still have
// the version given for it, and whole devices must be free and shared ones have
// the memory, else the error matches ErrStale.
func (r *Registry) Reserve(versions map[NodeID]uint64, as []Allocation) error {
	if len(as) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.edit()
	for _, id := range touched(as) {
		n := r.Snapshot().Node(id)
		switch {
		case n == nil:
			return fmt.Errorf("reserve on node %s: it is not known any more: %w", id, ErrStale)
		case n.Version != versions[id]:
			return fmt.Errorf("reserve on node %s: decided on version %d, it has %d: %w", id, versions[id], n.Version, ErrStale)
		}
		next := n.with(as)
		if err := next.checkRoom(as); err != nil {
			return fmt.Errorf("reserve on node %s: %w: %w", id, err, ErrStale)
		}
		e.put(next, true)
	}
	r.publish(e, true)
	return nil
}

// Restore takes over what was kept from an earlier run. It refuses nothing:
// what runs occupies its room, whatever the arithmetic says. A node that is not
// known yet becomes known, as unreachable, so that nothing on it is doubled. It
// is meant for the start, before the first decision; a repetition is harmless.
func (r *Registry) Restore(as []Allocation) {
	if len(as) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.edit()
	for _, id := range touched(as) {
		old := r.Snapshot().Node(id)
		if old == nil {
			old = unheard(NodeSettings{Node: id})
			r.silence.begin(id, r.silence.last)
		}
		if next := old.with(as); !reflect.DeepEqual(next.Allocations, old.Allocations) {
			e.put(next, true)
		}
	}
	if e.touched {
		r.publish(e, true)
	}
}

// Release frees what a replica occupies; harmless when it occupies nothing.
func (r *Registry) Release(replica string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.edit()
	for _, n := range r.Snapshot().nodes {
		if next := n.without(replica); next != n {
			e.put(next, true)
		}
	}
	if e.decisive {
		r.publish(e, true)
	}
}

// edit begins a change of the newest snapshot. The lock is held.
func (r *Registry) edit() *edition { return newEdition(r.Snapshot()) }

// publish makes a change the newest snapshot and, when there is something to
// look at, tells those who wait. The lock is held.
func (r *Registry) publish(e *edition, signal bool) {
	r.snapshot.Store(e.snapshot())
	if signal {
		close(r.changed)
		r.changed = make(chan struct{})
	}
}
