package replay_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/placement/replay"
)

// sim is a cluster at random: a real registry with agents that beat, measure, do
// what they are told, fail and fall silent, and people who change their minds.
// Plans are carried out as the control loop does, and every pass is written down.
type sim struct {
	tb       testing.TB
	rng      *rand.Rand
	watch    *rand.Rand // how slow replicas are
	now      time.Time
	registry *inventory.Registry
	ids      []inventory.NodeID
	silent   map[inventory.NodeID]time.Time // until when
	models   map[catalog.Name]catalog.Entry
	index    *catalog.Index
	changed  bool
	by       reconciler.Reconciler

	replicas []reconciler.Replica
	memory   reconciler.Memory
	traffic  reconciler.Traffic
	orders   []reconciler.Order

	encoder replay.Encoder
	entries []replay.Entry
	passes  int
	placed  int
	paced   int // passes that noted how quick a model is where
	// stable: engines do not fail, and every plan is kept. hushed: routers count no
	// requests. busy: engines say that they answer some.
	stable, hushed, busy bool
	// seen is told every pass that was written down, with its entry. Nil: nobody.
	seen func(replay.Pass, replay.Entry)
}

func newSim(tb testing.TB, seed uint64, fleet string) *sim {
	tb.Helper()
	kept := &inventorytest.Store{}
	s := &sim{
		tb: tb, rng: rand.New(rand.NewPCG(seed, 1)), watch: rand.New(rand.NewPCG(seed, 2)), now: time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC),
		silent: map[inventory.NodeID]time.Time{}, models: map[catalog.Name]catalog.Entry{}, changed: true,
	}
	var err error
	s.registry, err = inventory.NewRegistry(context.Background(), inventory.RegistryConfig{Store: kept, Holds: kept}, s.now)
	if err != nil {
		tb.Fatal(err)
	}
	snap, err := inventorytest.Parse(fleet)
	if err != nil {
		tb.Fatal(err)
	}
	for _, n := range snap.Nodes() {
		s.ids = append(s.ids, n.ID)
		s.registry.Apply(n.ID, inventory.Report{Facts: &n.Facts, Whole: true, At: s.now}, s.now)
	}
	s.traffic.Since = s.now
	return s
}

// run goes on for so many steps of a few seconds.
func (s *sim) run(steps int, event func()) {
	for range steps {
		event()
		s.beats()
		s.requests()
		s.registry.Tick(s.now)
		s.pass()
		for range 1 + s.rng.IntN(3) {
			s.now = s.now.Add(time.Duration(500+s.rng.IntN(800)) * time.Millisecond)
			s.registry.Tick(s.now)
		}
	}
}

func (s *sim) pass() {
	if s.changed {
		var all []catalog.Entry
		for _, name := range s.names() {
			all = append(all, s.models[name])
		}
		s.index, s.changed = catalog.NewIndex(uint64(s.passes), all), false
	}
	w := reconciler.World{
		Now: s.now, Catalog: s.index, Fleet: s.registry.Snapshot(), Replicas: s.replicas, Orders: s.orders,
		Traffic: reconciler.Traffic{Since: s.traffic.Since, Models: copied(s.traffic.Models), Replicas: copied(s.traffic.Replicas)},
	}
	plan, after := s.by.Step(w, s.memory)
	p := replay.Pass{Epoch: 1, World: w, Memory: s.memory, Plan: plan, After: after, Outcome: replay.Kept, Moves: s.by.Moves}
	if s.rng.IntN(50) == 0 && !s.stable {
		p.Outcome = []replay.Outcome{replay.Stale, replay.Failed}[s.rng.IntN(2)]
	}
	s.passes++
	for name, m := range after.Models {
		if !maps.Equal(m.Pace, s.memory.Models[name].Pace) {
			s.paced++
		}
	}
	s.write(p)
	// A store that failed may have kept it all the same.
	if p.Outcome == replay.Kept || p.Outcome == replay.Failed && s.rng.IntN(2) == 0 {
		s.carryOut(plan, after)
	}
}

func (s *sim) write(p replay.Pass) {
	e, ok, err := s.encoder.Encode(p)
	if err != nil {
		s.tb.Fatal(err)
	}
	if ok {
		s.entries = append(s.entries, e)
		if s.seen != nil {
			s.seen(p, e)
		}
	}
}

func (s *sim) carryOut(plan reconciler.Plan, after reconciler.Memory) {
	s.memory, s.orders = after, s.orders[plan.OrdersDone:]
	byID := map[reconciler.ReplicaID]reconciler.Replica{}
	for _, r := range s.replicas {
		byID[r.ID] = r
	}
	for _, a := range plan.Actions {
		switch a.Kind {
		case reconciler.Place:
			s.placed++
			versions := map[inventory.NodeID]uint64{}
			var as []inventory.Allocation
			for i, sh := range a.Replica.Shards {
				as = append(as, sh.Spot)
				versions[sh.Spot.Node] = a.Versions[i]
			}
			s.registry.Restore(as)
			byID[a.Replica.ID] = a.Replica
		case reconciler.Update:
			byID[a.Replica.ID] = a.Replica
		case reconciler.Forget:
			s.registry.Release(string(a.Replica.ID))
			delete(byID, a.Replica.ID)
			delete(s.traffic.Replicas, a.Replica.ID)
		}
	}
	if len(plan.Actions) == 0 {
		return
	}
	s.replicas = nil
	for _, r := range byID {
		s.replicas = append(s.replicas, r)
	}
	slices.SortFunc(s.replicas, func(a, b reconciler.Replica) int { return strings.Compare(string(a.ID), string(b.ID)) })
}

func copied[K comparable, V any](m map[K]V) map[K]V {
	out := map[K]V{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// beats are what agents say: most of it measurements that decide nothing.
func (s *sim) beats() {
	snap := s.registry.Snapshot()
	for _, id := range s.ids {
		if s.now.Before(s.silent[id]) {
			continue
		}
		rep := inventory.Report{At: s.now.Add(time.Duration(s.rng.IntN(100)) * time.Millisecond)}
		if s.rng.IntN(3) == 0 {
			temp := s.rng.Float64() * 90
			rep.Sample = &inventory.Sample{CPUPercent: s.rng.Float64() * 100, MemoryUsedBytes: s.rng.Int64N(1 << 40), CPUTempC: &temp}
		}
		n := snap.Node(id)
		rep.Whole = !n.ShardsKnown
		if rep.Whole {
			rep.Shards = slices.Clone(n.Shards)
		}
		s.registry.Apply(id, rep, s.now)
	}
	for i := range s.replicas {
		for k := range s.replicas[i].Shards {
			s.shard(&s.replicas[i], &s.replicas[i].Shards[k])
		}
	}
}

// shard does what its agent is told, after a while, and sometimes fails.
func (s *sim) shard(r *reconciler.Replica, sh *reconciler.Shard) {
	node := sh.Spot.Node
	if s.now.Before(s.silent[node]) || s.rng.IntN(3) == 0 {
		return
	}
	st, _ := s.registry.Snapshot().Node(node).Shard(string(sh.ID))
	next := st
	next.ID, next.Model = string(sh.ID), string(r.Model)
	switch {
	case st.State == inventory.ShardStopped || st.State == inventory.ShardFailed:
		return
	case r.Phase == reconciler.Stop:
		next.State = inventory.ShardStopped
	case st.State == "":
		next.State = inventory.ShardFetching
	case st.State == inventory.ShardFetching && s.rng.IntN(3) > 0:
		next.Fetch = &inventory.Fetch{BytesDone: s.rng.Int64N(1 << 30), BytesTotal: 1 << 30}
	case st.State == inventory.ShardFetching:
		next.State, next.Fetch = inventory.ShardStarting, nil
	case s.rng.IntN(150) == 0 && !s.stable:
		next.State, next.Error, next.Cause, next.LastLines = inventory.ShardFailed, "The engine exited with 1.", "exited", []string{"a", "b"}
	case st.State == inventory.ShardStarting:
		next.State, next.Address = inventory.ShardReady, "127.0.0.1:20001"
	default:
		next.Use = &inventory.ShardUse{CPUCores: s.rng.Float64(), Running: s.rng.IntN(2), Waiting: s.rng.IntN(5)}
		if s.busy {
			next.Use.Running = 1
		}
	}
	if next.State != st.State {
		next.Since = s.now
	}
	s.registry.Apply(node, inventory.Report{Shards: []inventory.ShardStatus{next}}, s.now)
}

func (s *sim) requests() {
	if s.traffic.Models == nil {
		s.traffic.Models = map[catalog.Name]reconciler.ModelTraffic{}
		s.traffic.Replicas = map[reconciler.ReplicaID]reconciler.ReplicaTraffic{}
	}
	if s.hushed {
		clear(s.traffic.Models)
		clear(s.traffic.Replicas)
		return
	}
	for _, name := range s.names() {
		t := s.traffic.Models[name]
		if s.rng.IntN(4) == 0 {
			t.LastAsked, t.Waiting, t.InFlight = s.now, s.rng.IntN(2), s.rng.IntN(3)
		} else {
			t.Waiting, t.InFlight = 0, 0
		}
		s.traffic.Models[name] = t
	}
	for i := range s.replicas {
		if s.rng.IntN(3) == 0 {
			t := s.traffic.Replicas[s.replicas[i].ID]
			t.InFlight, t.LastUsed = s.rng.IntN(4), s.now
			s.traffic.Replicas[s.replicas[i].ID] = t
		}
		if s.watch.IntN(6) == 0 {
			t := s.traffic.Replicas[s.replicas[i].ID]
			t.Slowness = float64(s.watch.IntN(4)) * (.5 + s.watch.Float64())
			s.traffic.Replicas[s.replicas[i].ID] = t
		}
	}
}

func data(entries []replay.Entry) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, e := range entries {
			if !yield(e.Data, nil) {
				return
			}
		}
	}
}

func (s *sim) names() []catalog.Name { return slices.Sorted(maps.Keys(s.models)) }

// define adds or edits a model.
func (s *sim) define(m catalog.Model) {
	s.models[m.Name] = catalog.Entry{Model: m, Revision: s.models[m.Name].Revision + 1, UpdatedAt: s.now, UpdatedBy: "token:ann"}
	s.changed = true
}

// event is one thing that happens, now and then.
func (s *sim) event() {
	by, ctx := inventory.Author{Principal: "token:ann"}, context.Background()
	name := catalog.Name(fmt.Sprintf("m%d", s.rng.IntN(6)))
	node := s.ids[s.rng.IntN(len(s.ids))]
	switch s.rng.IntN(40) {
	case 0, 1, 2:
		s.define(randomModel(s.rng, name))
	case 3:
		if s.rng.IntN(3) == 0 {
			delete(s.models, name)
			s.changed = true
		}
	case 4, 5:
		s.silent[node] = s.now.Add(time.Duration(s.rng.IntN(120)) * time.Second)
	case 6:
		if s.rng.IntN(4) == 0 {
			for _, id := range s.ids[:1+len(s.ids)/2] {
				s.silent[id] = s.now.Add(90 * time.Second)
			}
		}
	case 7, 8:
		wish := []inventory.Wish{inventory.WishReady, inventory.WishReady, inventory.WishCordoned, inventory.WishDraining}[s.rng.IntN(4)]
		if _, err := s.registry.SetWish(ctx, node, wish, by); err != nil {
			s.tb.Fatal(err)
		}
	case 9:
		h := inventory.Hold{Domain: inventory.Domain{Level: inventory.LevelRack, Name: "r1"}, Until: s.now.Add(time.Minute)}
		if s.rng.IntN(2) == 0 {
			h.From = s.now.Add(10 * time.Second)
		}
		if _, err := s.registry.Hold(ctx, h, s.now, by); err != nil {
			s.tb.Fatal(err)
		}
	case 10:
		if err := s.registry.SweepHolds(ctx, s.now); err != nil {
			s.tb.Fatal(err)
		}
	case 11:
		s.orders = append(s.orders, reconciler.Order{Retry: name})
	case 12, 13:
		if len(s.replicas) > 0 {
			mode := []reconciler.RestartMode{reconciler.Replace, reconciler.InPlace, reconciler.RolloutBorrow}[s.rng.IntN(3)]
			s.orders = append(s.orders, reconciler.Order{Restart: s.replicas[s.rng.IntN(len(s.replicas))].ID, Mode: mode})
		}
	case 14:
		s.orders = append(s.orders, reconciler.Order{ReleaseBrake: true})
	case 15:
		s.restart()
	case 16:
		s.facts(node)
	case 17:
		value := fmt.Sprint(s.rng.IntN(3))
		if _, err := s.registry.SetLabels(ctx, node, map[string]*string{"team": &value}, by); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// facts changes what an agent says of its machine.
func (s *sim) facts(node inventory.NodeID) {
	f := s.registry.Snapshot().Node(node).Facts
	f.DiskFreeMB = s.rng.Int64N(1 << 20)
	f.Devices = slices.Clone(f.Devices)
	for i := range f.Devices {
		f.Devices[i].Problem = ""
		if s.rng.IntN(8) == 0 {
			f.Devices[i].Problem = "It has fallen off the bus."
		}
	}
	if f.Engines = nil; s.rng.IntN(8) == 0 {
		f.Engines = []inventory.Engine{}
	}
	s.registry.Apply(node, inventory.Report{Facts: &f}, s.now)
}

// restart is another process that leads: it begins its journal anew, and what was
// heard and need not be kept is gone.
func (s *sim) restart() {
	s.memory = reconciler.Memory{Next: s.memory.Next, Models: s.memory.Models}
	s.encoder = replay.Encoder{Redact: s.encoder.Redact}
	s.traffic.Since = time.Time{}
	if s.rng.IntN(2) == 0 {
		s.traffic.Since = s.now
	}
}

func randomModel(rng *rand.Rand, name catalog.Name) catalog.Model {
	least := rng.IntN(4)
	most := least + rng.IntN(2)
	class := catalog.Classes[rng.IntN(len(catalog.Classes))]
	p := catalog.Profile{
		Name: "p", Engine: catalog.EngineSim, GPU: &catalog.GPU{Count: 1 + rng.IntN(2)}, Context: 1024 * (1 + rng.IntN(2)),
		Args: []string{"--verbose"}, Env: map[string]string{"HF_TOKEN": "hidden", "PLAIN": "shown"},
	}
	if rng.IntN(4) == 0 {
		p.Spread = &catalog.Spread{Level: inventory.LevelRack}
	}
	shared := catalog.Profile{Name: "small", Engine: catalog.EngineSim, GPU: &catalog.GPU{Count: 1, Shared: true, MemoryGB: 4}, DrainTimeout: catalog.Duration(20 * time.Second)}
	m := catalog.Model{
		Name: name, Class: class, Scaling: &catalog.Scaling{Min: least, Max: &most, IdleTimeout: catalog.Duration(30 * time.Second)},
		Source: "https://user:hidden@example.com/m.gguf?token=hidden", Profiles: []catalog.Profile{p, shared},
		Adapters: []catalog.Adapter{}, Files: []catalog.File{},
	}
	if rng.IntN(5) == 0 {
		m.Scaling.Schedule = []catalog.Window{{From: "08:01", Until: "08:04", Min: most}}
	}
	return m
}
