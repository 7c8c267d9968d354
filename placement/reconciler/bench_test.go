package reconciler_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/reconciler"
)

// large is a fleet in which everything that is wanted runs, one power
// distribution unit for a hundred nodes.
type large struct {
	reconciler.World
	memory reconciler.Memory
}

// newLarge makes a fleet with so many replicas of so many models.
func newLarge(tb testing.TB, nodes, models, wanted int) *large {
	tb.Helper()
	var lines strings.Builder
	for i := range nodes {
		fmt.Fprintf(&lines, "n%05d rack=r%03d pdu=p%03d %s\n", i, i/25, i/100, []string{
			fmt.Sprintf("gpu=8xH100-80 nvlink=0-7 mem=2048 cpu=192 engines=sim fabric=ib%d", i/64),
			"gpu=4xL40S-48 mem=512 cpu=64 engines=sim",
			"mem=256 cpu=64 engines=sim",
		}[[]int{0, 1, 2, 0}[i%4]])
	}
	fleet, err := inventorytest.Parse(lines.String())
	if err != nil {
		tb.Fatal(err)
	}
	entries := make([]catalog.Entry, models)
	for i := range entries {
		entries[i] = catalog.Entry{Revision: 1, Model: largeModel(i, models, wanted)}
	}
	l := &large{World: reconciler.World{
		Now: time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC), Fleet: fleet, Catalog: catalog.NewIndex(1, entries),
	}}
	l.Traffic.Since = l.Now
	for range 3 {
		plan := l.step()
		l.carryOut(plan)
	}
	if len(l.Replicas) != wanted {
		tb.Fatalf("%d of %d replicas are placed", len(l.Replicas), wanted)
	}
	return l
}

func largeModel(i, models, wanted int) catalog.Model {
	p := catalog.Profile{Name: "p", Engine: catalog.EngineSim}
	switch i % 3 {
	case 0:
		p.GPU = &catalog.GPU{Class: "H100-80", Count: []int{1, 2, 4, 8, 4}[i/3%5]}
		if i%60 == 9 {
			p.Shards, p.Fabric = 2, "any"
		}
	case 1:
		p.GPU = &catalog.GPU{Class: "L40S-48", Count: 1}
	default:
		p.MemoryGB, p.CPUCores = 16, 4
	}
	least := wanted / models
	if i < wanted%models {
		least++
	}
	class := []catalog.Class{catalog.ClassBatch, catalog.ClassStandard, catalog.ClassStandard, catalog.ClassCritical}[i/3%4]
	return catalog.Model{Name: catalog.Name(fmt.Sprintf("m%03d", i)), Class: class, Scaling: &catalog.Scaling{Min: least}, Profiles: []catalog.Profile{p}}
}

func (l *large) step() (plan reconciler.Plan) {
	plan, l.memory = reconciler.Reconciler{}.Step(l.World, l.memory)
	return plan
}

// carryOut makes a plan true at once: what is placed is ready, what stops is
// gone.
func (l *large) carryOut(plan reconciler.Plan) {
	nodes := slices.Clone(l.Fleet.Nodes())
	at := map[inventory.NodeID]int{}
	for i, n := range nodes {
		at[n.ID] = i
	}
	gone, changed := map[reconciler.ReplicaID]bool{}, map[reconciler.ReplicaID]reconciler.Replica{}
	for _, a := range plan.Actions {
		gone[a.Replica.ID] = a.Kind == reconciler.Forget
		changed[a.Replica.ID] = a.Replica
		if a.Kind == reconciler.Update {
			continue
		}
		for _, sh := range a.Replica.Shards {
			i := at[sh.Spot.Node]
			n := nodes[i].Without(string(a.Replica.ID))
			if a.Kind == reconciler.Place {
				n = nodes[i].With(sh.Spot)
				n.Shards = append(slices.Clone(n.Shards), inventory.ShardStatus{ID: string(sh.ID), State: inventory.ShardReady})
			}
			n.Version++
			nodes[i] = n
		}
	}
	var replicas []reconciler.Replica
	for _, r := range l.Replicas {
		if gone[r.ID] {
			continue
		}
		if c, did := changed[r.ID]; did {
			r = c
			delete(changed, r.ID)
		}
		replicas = append(replicas, r)
	}
	for id, r := range changed {
		if !gone[id] {
			replicas = append(replicas, r)
		}
	}
	slices.SortFunc(replicas, func(a, b reconciler.Replica) int { return cmp.Compare(a.ID, b.ID) })
	l.Replicas, l.Fleet = replicas, inventory.NewSnapshot(l.Fleet.Version()+1, nodes)
}

// beat lets so many nodes bring a measurement, others every time.
func (l *large) beat(count, turn int) {
	nodes := slices.Clone(l.Fleet.Nodes())
	for i := range count {
		at := (turn*count + i) % len(nodes)
		n := *nodes[at]
		n.LastSeen, n.Sample = n.LastSeen.Add(time.Second), &inventory.Sample{}
		nodes[at] = &n
	}
	l.Fleet = inventory.NewSnapshot(l.Fleet.Version()+1, nodes)
}

// BenchmarkIdle is a pass with nothing to do: with no news, and with the beats
// of the least time between two passes.
func BenchmarkIdle(b *testing.B) {
	for _, beats := range []int{0, 100} {
		b.Run(fmt.Sprintf("beats=%d", beats), func(b *testing.B) {
			l := newLarge(b, 10_004, 300, 20_000)
			b.ReportAllocs()
			turn := 0
			for b.Loop() {
				if beats > 0 {
					b.StopTimer()
					l.beat(beats, turn)
					turn++
					b.StartTimer()
				}
				if plan := l.step(); len(plan.Actions) > 0 {
					b.Fatal(plan.Actions[0])
				}
			}
		})
	}
}

// BenchmarkOther is a pass after one replica was written, which changes the list.
func BenchmarkOther(b *testing.B) {
	l := newLarge(b, 10_004, 300, 20_000)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		l.Replicas = slices.Clone(l.Replicas)
		b.StartTimer()
		if plan := l.step(); len(plan.Actions) > 0 {
			b.Fatal(plan.Actions[0])
		}
	}
}

// lose makes the nodes of one power distribution unit lost.
func (l *large) lose(pdu string) {
	nodes := slices.Clone(l.Fleet.Nodes())
	for i, n := range nodes {
		if n.Domain(inventory.LevelPDU) == pdu {
			lost := *n
			lost.Hearing, lost.Version = inventory.Lost, n.Version+1
			nodes[i] = &lost
		}
	}
	l.Fleet = inventory.NewSnapshot(l.Fleet.Version()+1, nodes)
}

func BenchmarkLoss(b *testing.B) {
	b.ReportAllocs()
	l := newLarge(b, 10_004, 300, 20_000)
	was, memory := l.World, l.memory
	for b.Loop() {
		b.StopTimer()
		l.World, l.memory = was, memory
		l.step()
		l.lose("p042")
		b.StartTimer()
		plan := l.step()
		b.ReportMetric(float64(len(plan.Actions)), "actions")
	}
}

func BenchmarkHeadroom(b *testing.B) {
	l := newLarge(b, 10_004, 300, 20_000)
	v := &reconciler.View{At: l.Now, Catalog: l.Catalog, Fleet: l.Fleet, Replicas: l.Replicas, Mix: l.memory.Mix}
	for _, fresh := range []bool{false, true} {
		b.Run(fmt.Sprintf("fresh=%t", fresh), func(b *testing.B) {
			c := &reconciler.Cache{}
			for b.Loop() {
				if fresh {
					c = nil
				}
				h, err := reconciler.Reconciler{}.Headroom(v, "m000", 64, c)
				if err != nil || !h.Limited {
					b.Fatal(err, len(h.Spots))
				}
			}
		})
	}
}
