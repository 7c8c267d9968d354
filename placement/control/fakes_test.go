package control_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/control"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

var errAway = errors.New("the store is away")

// store is the Assignments seam in memory, with the lease's real rules.
type store struct {
	mu     sync.Mutex
	lease  storage.Lease
	rows   map[string]storage.Assignment
	memory map[catalog.Name][]byte
	next   int64
	writes int
	// fail is asked before a call by "holder or epoch: method". Nil: none fails.
	fail func(method string) error
	// after is the error of a write that was made all the same.
	after func() error
}

func newStore() *store {
	return &store{rows: map[string]storage.Assignment{}, memory: map[catalog.Name][]byte{}}
}

func (s *store) fails(method string) error {
	if s.fail == nil {
		return nil
	}
	return s.fail(method)
}

// set changes the store's temper while loops use it.
func (s *store) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *store) Acquire(_ context.Context, holder string) (storage.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails("acquire " + holder); err != nil {
		return storage.Lease{}, err
	}
	if s.lease.Holder != "" && s.lease.Holder != holder && time.Now().Before(s.lease.ExpiresAt) {
		return storage.Lease{}, fmt.Errorf("%s leads: %w", s.lease.Holder, storage.ErrHeld)
	}
	s.lease = storage.Lease{Holder: holder, Epoch: s.lease.Epoch + 1, ExpiresAt: time.Now().Add(storage.LeaseLife)}
	return s.lease, nil
}

func (s *store) Renew(_ context.Context, l storage.Lease) (storage.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails("renew " + l.Holder); err != nil {
		return storage.Lease{}, err
	}
	if l.Epoch != s.lease.Epoch {
		return storage.Lease{}, storage.ErrLost
	}
	s.lease.ExpiresAt = time.Now().Add(storage.LeaseLife)
	return s.lease, nil
}

func (s *store) Release(_ context.Context, l storage.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails("release " + l.Holder); err != nil {
		return err
	}
	if l.Epoch == s.lease.Epoch {
		s.lease.Holder = ""
	}
	return nil
}

func (s *store) Lead(epoch int64) storage.Leader { return &leader{store: s, epoch: epoch} }

func (s *store) row(id string) storage.Assignment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[id]
}

func (s *store) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.rows))
}

type leader struct {
	store *store
	epoch int64
}

func (l *leader) enter(method string) error {
	if err := l.store.fails(method); err != nil {
		return err
	}
	if l.epoch != l.store.lease.Epoch {
		return storage.ErrFenced
	}
	return nil
}

func (l *leader) LoadAssignments(context.Context) (storage.Assignments, error) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if err := l.enter("load"); err != nil {
		return storage.Assignments{}, err
	}
	out := storage.Assignments{Next: l.store.next}
	for _, id := range slices.Sorted(maps.Keys(l.store.rows)) {
		out.Replicas = append(out.Replicas, l.store.rows[id])
	}
	for _, name := range slices.Sorted(maps.Keys(l.store.memory)) {
		out.Memory = append(out.Memory, storage.ModelMemory{Model: name, Data: l.store.memory[name]})
	}
	return out, nil
}

func (l *leader) ChangeAssignments(_ context.Context, c storage.AssignmentChange) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if err := l.enter("change"); err != nil {
		return err
	}
	for _, a := range c.Put {
		l.store.rows[a.Replica] = a
	}
	for _, id := range c.Delete {
		delete(l.store.rows, id)
	}
	for _, m := range c.PutMemory {
		l.store.memory[m.Model] = m.Data
	}
	for _, name := range c.DeleteMemory {
		delete(l.store.memory, name)
	}
	l.store.next = max(l.store.next, c.Next)
	l.store.writes++
	if l.store.after != nil {
		return l.store.after()
	}
	return nil
}

// models is the Catalog seam.
type models struct {
	mu      sync.Mutex
	index   *catalog.Index
	changed chan struct{}
	version uint64
}

func newModels(ms ...catalog.Model) *models {
	m := &models{changed: make(chan struct{})}
	m.set(ms...)
	return m
}

func (m *models) set(ms ...catalog.Model) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entries := make([]catalog.Entry, len(ms))
	for i := range ms {
		entries[i] = catalog.Entry{Model: ms[i], Revision: 1}
	}
	m.version++
	m.index = catalog.NewIndex(m.version, entries)
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *models) Index() *catalog.Index {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.index
}

func (m *models) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// dispatcher is the Dispatcher seam; it keeps every list it was given.
type dispatcher struct {
	mu    sync.Mutex
	lists []list
	// before is called with each list, outside of the lock. Nil: all succeed.
	before func(l list) error
}

type list struct {
	epoch int64
	ids   []reconciler.ReplicaID
}

func (d *dispatcher) Dispatch(_ context.Context, epoch int64, replicas []reconciler.Replica) error {
	l := list{epoch: epoch}
	for _, r := range replicas {
		l.ids = append(l.ids, r.ID)
	}
	if d.before != nil {
		if err := d.before(l); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lists = append(d.lists, l)
	return nil
}

func (d *dispatcher) all() []list {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lists)
}

// traffic is the Traffic seam. It also counts the passes, each of which asks it.
type traffic struct {
	mu    sync.Mutex
	asked int
	now   reconciler.Traffic
	panic bool
}

func (t *traffic) Traffic() reconciler.Traffic {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	if t.panic {
		t.panic = false
		panic("a bug")
	}
	return t.now
}

func (t *traffic) passes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked
}

// rig is one process: a loop on a registry of its own.
type rig struct {
	t          *testing.T
	loop       *control.Loop
	registry   *inventory.Registry
	dispatcher *dispatcher
	traffic    *traffic
	cancel     context.CancelFunc
	done       chan error
}

// start runs a loop. The fleet is what agents say at once; wrap may put
// something before the registry.
func start(t *testing.T, holder string, s control.Assignments, m *models, fleet string, wrap func(control.Fleet) control.Fleet, change func(*control.Config)) *rig {
	t.Helper()
	kept := &inventorytest.Store{}
	registry, err := inventory.NewRegistry(t.Context(), inventory.RegistryConfig{Store: kept, Holds: kept}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, registry: registry, dispatcher: &dispatcher{}, traffic: &traffic{}, done: make(chan error, 1)}
	r.hear(fleet)
	var f control.Fleet = registry
	if wrap != nil {
		f = wrap(f)
	}
	cfg := control.Config{Catalog: m, Fleet: f, Dispatcher: r.dispatcher, Assignments: s, Traffic: r.traffic, Holder: holder}
	if change != nil {
		change(&cfg)
	}
	if r.loop, err = control.New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	go func() { r.done <- r.loop.Run(ctx) }()
	synctest.Wait()
	return r
}

// hear lets the agents of a fleet's text report whole facts.
func (r *rig) hear(fleet string) {
	r.t.Helper()
	snap, err := inventorytest.Parse(fleet)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, n := range snap.Nodes() {
		r.registry.Apply(n.ID, inventory.Report{Facts: &n.Facts, Whole: true}, time.Now())
	}
}

// say lets an agent report one shard.
func (r *rig) say(node inventory.NodeID, shard string, state inventory.ShardState) {
	r.registry.Apply(node, inventory.Report{Shards: []inventory.ShardStatus{{ID: shard, State: state, Since: time.Now()}}}, time.Now())
}

// stop ends the loop and waits for it.
func (r *rig) stop() {
	r.t.Helper()
	r.cancel()
	if err := <-r.done; err != nil {
		r.t.Errorf("Run: want nil when its context ends, got %v", err)
	}
}

// after lets time pass.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func model(name catalog.Name, least int) catalog.Model {
	return catalog.Model{Name: name, Scaling: &catalog.Scaling{Min: least}, Profiles: []catalog.Profile{{
		Name: "p", Engine: catalog.EngineSim, GPU: &catalog.GPU{Count: 1},
	}}}
}

func viewIDs(v *reconciler.View) []reconciler.ReplicaID {
	var out []reconciler.ReplicaID
	for _, r := range v.Replicas {
		out = append(out, r.ID)
	}
	return out
}

// notes is a list that loops write and tests read.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

// recorder notes what is asked of a fleet that changes room.
type recorder struct {
	control.Fleet
	calls notes
	// reserve is called before the n-th Reserve, from 1. Nil: nothing is.
	reserve func(n int)
	n       int
}

func (f *recorder) wrap(inner control.Fleet) control.Fleet {
	f.Fleet = inner
	return f
}

func (f *recorder) Restore(as []inventory.Allocation) {
	f.calls.add("restore %d", len(as))
	f.Fleet.Restore(as)
}

func (f *recorder) Reserve(versions map[inventory.NodeID]uint64, as []inventory.Allocation) error {
	if f.n++; f.reserve != nil {
		f.reserve(f.n)
	}
	err := f.Fleet.Reserve(versions, as)
	f.calls.add("reserve %d: %t", len(as), err == nil)
	return err
}
