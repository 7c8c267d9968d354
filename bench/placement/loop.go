package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

// The fleet that the control loop looks at: as many nodes as in the other large
// fleets, two replicas a node, a power distribution unit for a hundred nodes.
const (
	loopModels  = 300
	loopNodes   = 10_004
	loopPDU     = 100
	loopRepeats = 50
	loopLeast   = 1000
	lossRepeats = 10
)

// looked is what passes and questions cost, in milliseconds of processor time.
type looked struct {
	Nodes      int     `json:"nodes"`
	Replicas   int     `json:"replicas"`
	Idle       float64 `json:"idle_ms"`
	IdleAllocs float64 `json:"idle_allocs"`
	Beats      float64 `json:"beats_ms"`
	Loss       float64 `json:"loss_ms"`
	// Lost replicas are those of all losses; Others were touched beside them, and
	// Disorder were placed after a lower class.
	Lost     int     `json:"lost"`
	Others   int     `json:"others"`
	Disorder int     `json:"disorder"`
	Headroom float64 `json:"headroom_ms"`
	Explain  float64 `json:"explain_ms"`
	Fix      float64 `json:"fix_ms"`
}

// loop measures what the control loop does on a large fleet, and appends it to a
// file.
func loop(path string, nodes int) error {
	l, err := newLoop(nodes)
	if err != nil {
		return err
	}
	out := looked{Nodes: nodes, Replicas: len(l.world.Replicas)}
	// A loop has passed many times before something happens to it.
	for range loopModels {
		l.step()
	}
	allocs := mallocs()
	out.Idle = spent(loopRepeats, func(int) { l.step() })
	out.IdleAllocs = float64(mallocs()-allocs) / loopRepeats
	worlds := l.beats(loopRepeats)
	out.Beats = spent(len(worlds), func(i int) { l.world.Fleet = worlds[i]; l.step() })
	l.ask(&out)
	l.lose(&out)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(f).Encode(out); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// spent is the time of one of so many calls, in milliseconds.
func spent(repeats int, do func(i int)) float64 {
	wall, start := time.Now(), cpuTime()
	for i := range repeats {
		do(i)
	}
	took := cpuTime() - start
	if took <= 0 {
		took = time.Since(wall)
	}
	return took.Seconds() * 1e3 / float64(repeats)
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// looping is a world with what the reconciler remembers of it.
type looping struct {
	world  reconciler.World
	memory reconciler.Memory
}

// newLoop lets the reconciler fill a fleet, and makes everything ready.
func newLoop(nodes int) (*looping, error) {
	var text strings.Builder
	for i := range nodes {
		fmt.Fprintf(&text, "n%06d rack=r%d pdu=p%d %s\n", i, i/25, i/loopPDU, []string{
			fmt.Sprintf("gpu=8xH100-80 nvlink=0-7 mem=2048 cpu=192 engines=sim fabric=ib%d", i/64),
			"gpu=4xL40S-48 mem=512 cpu=64 engines=sim",
			"mem=256 cpu=64 engines=sim",
			"gpu=8xH100-80 nvlink=0-7 mem=2048 cpu=192 engines=sim",
		}[i%4])
	}
	fleet, err := inventorytest.Parse(text.String())
	if err != nil {
		return nil, err
	}
	entries := make([]catalog.Entry, loopModels)
	for i := range entries {
		replicas := 2 * nodes / loopModels
		if i < 2*nodes%loopModels {
			replicas++
		}
		entries[i] = catalog.Entry{Revision: 1, Model: loopModel(i, replicas)}
	}
	now := time.Unix(1_700_000_000, 0)
	l := &looping{world: reconciler.World{
		Now: now, Fleet: fleet, Catalog: catalog.NewIndex(1, entries), Traffic: reconciler.Traffic{Since: now},
	}}
	for range 3 {
		l.carryOut(l.step())
	}
	if plan := l.step(); len(plan.Actions) > 0 {
		return nil, fmt.Errorf("the fleet does not come to rest: %s", plan.Actions[0].Why)
	}
	return l, nil
}

func loopModel(i, replicas int) catalog.Model {
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
	class := []catalog.Class{catalog.ClassBatch, catalog.ClassStandard, catalog.ClassStandard, catalog.ClassCritical}[i/3%4]
	return catalog.Model{
		Name: catalog.Name(fmt.Sprintf("m%03d", i)), Class: class,
		Scaling: &catalog.Scaling{Min: replicas}, Profiles: []catalog.Profile{p},
	}
}

func (l *looping) step() (plan reconciler.Plan) {
	plan, l.memory = reconciler.Reconciler{}.Step(l.world, l.memory)
	return plan
}

// carryOut makes a plan true at once: what is placed is ready.
func (l *looping) carryOut(plan reconciler.Plan) {
	nodes := slices.Clone(l.world.Fleet.Nodes())
	replicas := map[reconciler.ReplicaID]reconciler.Replica{}
	for _, r := range l.world.Replicas {
		replicas[r.ID] = r
	}
	for _, a := range plan.Actions {
		replicas[a.Replica.ID] = a.Replica
		if a.Kind != reconciler.Place {
			continue
		}
		for _, sh := range a.Replica.Shards {
			at, _ := slices.BinarySearchFunc(nodes, sh.Spot.Node, func(n *inventory.Node, id inventory.NodeID) int { return cmp.Compare(n.ID, id) })
			n := nodes[at].With(sh.Spot)
			n.Shards = append(slices.Clone(n.Shards), inventory.ShardStatus{ID: string(sh.ID), State: inventory.ShardReady})
			n.Version++
			nodes[at] = n
		}
	}
	l.world.Replicas = l.world.Replicas[:0:0]
	for _, r := range replicas {
		l.world.Replicas = append(l.world.Replicas, r)
	}
	slices.SortFunc(l.world.Replicas, func(a, b reconciler.Replica) int { return cmp.Compare(a.ID, b.ID) })
	l.world.Fleet = inventory.NewSnapshot(l.world.Fleet.Version()+1, nodes)
}

// beats are worlds in each of which a hundred other nodes bring a measurement: as
// many as beat in the least time between two passes.
func (l *looping) beats(count int) (out []*inventory.Snapshot) {
	nodes := slices.Clone(l.world.Fleet.Nodes())
	for turn := range count {
		for i := range 100 {
			at := (turn*100 + i) % len(nodes)
			n := *nodes[at]
			n.Sample = &inventory.Sample{}
			nodes[at] = &n
		}
		out = append(out, inventory.NewSnapshot(l.world.Fleet.Version(), nodes))
	}
	return out
}

// ask puts the questions of people, by those who have asked before.
func (l *looping) ask(out *looked) {
	c := &reconciler.Cache{}
	v := &reconciler.View{At: l.world.Now, Catalog: l.world.Catalog, Fleet: l.world.Fleet, Replicas: l.world.Replicas, Mix: l.memory.Mix}
	headroom := func(int) {
		if h, err := (reconciler.Reconciler{}).Headroom(v, "m000", 64, c); err != nil || !h.Limited {
			panic(fmt.Sprintf("64 more of m000: %d fit, %v", len(h.Spots), err))
		}
	}
	headroom(0)
	out.Headroom = spent(loopRepeats, headroom)

	x := placement.NewIndex(placement.Placer{Mix: l.memory.Mix})
	x.Advance(l.world.Fleet)
	var models []catalog.Model
	for _, name := range []catalog.Name{"m000", "m004", "m009", "m002"} {
		e, _ := l.world.Catalog.Get(name)
		refused := e.Model
		refused.Name += "-large"
		refused.Profiles = []catalog.Profile{refused.Profiles[0]}
		refused.Profiles[0].MemoryGB = 4096
		models = append(models, e.Model, refused)
	}
	explain := func(i int) { x.Explain(reconciler.Request(l.world.Catalog, &models[i%len(models)])) }
	spent(len(models), explain)
	out.Explain = spent(loopRepeats, explain)
	l.askFix(x, out)
}

// lose takes a power distribution unit away, and looks how what stood there is
// placed again.
func (l *looping) lose(out *looked) {
	was, memory := l.world, l.memory
	total := 0.0
	var plan reconciler.Plan
	for i := range lossRepeats {
		l.world, l.memory = was, memory
		l.step()
		pdu := fmt.Sprintf("p%d", (7*i+3)%(out.Nodes/loopPDU))
		nodes := slices.Clone(was.Fleet.Nodes())
		for k, n := range nodes {
			if n.Domain(inventory.LevelPDU) == pdu {
				lost := *n
				lost.Hearing, lost.Version = inventory.Lost, n.Version+1
				nodes[k] = &lost
			}
		}
		l.world.Fleet = inventory.NewSnapshot(was.Fleet.Version()+1, nodes)
		total += spent(1, func(int) { plan = l.step() })
		l.judge(plan, out)
	}
	out.Loss = total / lossRepeats
}

// judge counts what a step has done beside replacing what is lost, in order.
func (l *looping) judge(plan reconciler.Plan, out *looked) {
	lost := map[reconciler.ReplicaID]bool{}
	for i := range l.world.Replicas {
		r := &l.world.Replicas[i]
		if reconciler.StateOf(r, l.world.Fleet) == reconciler.StateLost {
			lost[r.ID] = true
		}
	}
	out.Lost += len(lost)
	last := catalog.ClassCritical.Rank()
	for _, a := range plan.Actions {
		e, _ := l.world.Catalog.Get(a.Replica.Model)
		switch {
		case a.Kind != reconciler.Place || !lost[a.Replica.Replaces]:
			out.Others++
		case e.Model.Class.Rank() > last:
			out.Disorder++
		default:
			last = e.Model.Class.Rank()
		}
	}
}
