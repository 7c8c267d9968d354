package dryrun_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/dryrun"
	"llmgw.io/llmgw/placement/reconciler"
)

const lawSeeds = 150

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// TestDryRunLaws makes random changes of random small fleets, and holds what is
// said against what every change does.
func TestDryRunLaws(t *testing.T) {
	t.Parallel()
	did := map[string]int{}
	for seed := range uint64(lawSeeds) {
		rng := rand.New(rand.NewPCG(seed, 5))
		v := randomView(t, rng)
		for range 4 {
			what, c := randomChange(rng, v)
			r, err := dryrun.Plan(reconciler.Reconciler{}, v, c)
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, what, err)
			}
			again, _ := dryrun.Plan(reconciler.Reconciler{}, v, c)
			if !reflect.DeepEqual(r, again) {
				t.Errorf("%s: asked twice, it says two things:\n%+v\n%+v", what, r, again)
			}
			checkLaws(t, what, v, c, r)
			if t.Failed() {
				t.Fatalf("seed %d: %s\n%+v\n%s%s", seed, what, r, standing(v), inventorytest.Format(v.Fleet))
			}
			did["placed"] += len(r.Placed)
			did["moved"] += len(r.Moved)
			did["preempted"] += len(r.Preempted)
			did["lost"] += len(r.Lost)
			did["unplaceable"] += len(r.Unplaceable)
		}
	}
	for _, what := range []string{"placed", "moved", "preempted", "lost", "unplaceable"} {
		if did[what] < lawSeeds/10 {
			t.Errorf("the changes show little: %v", did)
			break
		}
	}
}

// checkLaws holds a report against what does not depend on how it came about.
func checkLaws(t *testing.T, what string, v *reconciler.View, c dryrun.Change, r dryrun.Report) {
	t.Helper()
	touched := map[reconciler.ReplicaID]bool{}
	touch := func(id reconciler.ReplicaID) {
		if touched[id] {
			t.Errorf("%s is told of twice", id)
		}
		touched[id] = true
	}
	var goes []dryrun.Placed
	for _, m := range r.Moved {
		touch(m.Replica)
		goes = append(goes, m.To)
	}
	for _, p := range r.Preempted {
		touch(p.Replica)
		if len(p.To.Nodes) > 0 {
			goes = append(goes, p.To)
		}
		if by, known := v.Catalog.Get(p.By); known && by.Model.Class.Rank() <= classOf(v, p.Model).Rank() && c.Model == nil {
			t.Errorf("%s gives way to %s, which is of no higher class", p.Replica, p.By)
		}
	}
	for _, l := range r.Lost {
		touch(l.Replica)
		if l.Why == "" {
			t.Errorf("nobody says why %s is lost", l.Replica)
		}
	}
	known := 0
	for i := range v.Replicas {
		x := &v.Replicas[i]
		if touched[x.ID] {
			known++
		}
		if leaves(v, x, c) && !touched[x.ID] {
			t.Errorf("%s has to leave, and nothing is said of it", x.ID)
		}
	}
	if known != len(touched) {
		t.Errorf("%d replicas are told of that are not there", len(touched)-known)
	}
	if strings.HasPrefix(what, "nothing") && len(touched)+len(r.Placed)+len(r.Unplaceable) > 0 {
		t.Error("a change of nothing does something")
	}
	for _, p := range append(goes, r.Placed...) {
		for _, id := range p.Nodes {
			n := v.Fleet.Node(id)
			if n == nil || c.Node != nil && c.Node.ID == id && c.Node.Wish != nil && *c.Node.Wish != inventory.WishReady || c.Hold != nil && !c.Hold.Release && c.Hold.Hold.Domain.Holds(n) {
				t.Errorf("%s would be placed on %s, which takes nothing then", p.Model, id)
			}
		}
	}
	if r.Unsettled {
		t.Error("it does not come to rest")
	}
}

func classOf(v *reconciler.View, name catalog.Name) catalog.Class {
	e, ok := v.Catalog.Get(name)
	if !ok {
		return ""
	}
	return e.Model.Class
}

// leaves reports whether a replica cannot stay where it is, whatever else.
func leaves(v *reconciler.View, r *reconciler.Replica, c dryrun.Change) bool {
	if m := c.Model; m != nil && m.Remove {
		return r.Model == m.Name
	}
	for _, s := range r.Shards {
		n := v.Fleet.Node(s.Spot.Node)
		switch {
		case c.Node != nil && c.Node.ID == n.ID && (c.Node.Lost || c.Node.Remove || c.Node.Wish != nil && *c.Node.Wish == inventory.WishDraining):
			return true
		case c.Hold != nil && !c.Hold.Release && !c.Hold.Hold.From.IsZero() && c.Hold.Hold.Domain.Holds(n):
			return true
		}
	}
	return false
}

func randomView(t *testing.T, rng *rand.Rand) *reconciler.View {
	t.Helper()
	var lines []string
	for i := range 3 + rng.IntN(4) {
		lines = append(lines, fmt.Sprintf("n%d gpu=%dxH100-80 rack=r%d fabric=ib0 %s", i, pick(rng, 2, 4, 4), rng.IntN(3), pick(rng, "", "", "", "cordoned")))
	}
	if rng.IntN(4) == 0 {
		lines = append(lines, "hold rack:r0")
	}
	fleet, err := inventorytest.Parse(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	var models []catalog.Entry
	for i := range 3 {
		models = append(models, catalog.Entry{Revision: 1, Model: randomModel(rng, fmt.Sprint("m", i))})
	}
	return settled(t, fleet, models)
}

func randomModel(rng *rand.Rand, name string) catalog.Model {
	p := catalog.Profile{Name: "p", Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Count: pick(rng, 1, 2, 4)}}
	if rng.IntN(5) == 0 {
		p.Shards, p.Fabric, p.PipelineParallel = 2, "any", 2
	}
	most := 4
	return catalog.Model{
		Name: catalog.Name(name), Source: "file:///w", Class: pick(rng, catalog.Classes...),
		Scaling: &catalog.Scaling{Min: rng.IntN(4), Max: &most}, Profiles: []catalog.Profile{p},
	}
}

func randomChange(rng *rand.Rand, v *reconciler.View) (string, dryrun.Change) {
	n := pick(rng, v.Fleet.Nodes()...)
	m := catalog.Name(fmt.Sprint("m", rng.IntN(3)))
	rack := inventory.Domain{Level: inventory.LevelRack, Name: fmt.Sprint("r", rng.IntN(3))}
	ready, cordoned, draining := inventory.WishReady, inventory.WishCordoned, inventory.WishDraining
	switch rng.IntN(10) {
	case 0:
		if n.Settings.Wish == inventory.WishReady {
			return fmt.Sprint("nothing: uncordon ", n.ID), dryrun.Change{Node: &dryrun.NodeChange{ID: n.ID, Wish: &ready}}
		}
		return fmt.Sprint("uncordon ", n.ID), dryrun.Change{Node: &dryrun.NodeChange{ID: n.ID, Wish: &ready}}
	case 1:
		return fmt.Sprint("nothing moves: cordon ", n.ID), dryrun.Change{Node: &dryrun.NodeChange{ID: n.ID, Wish: &cordoned}}
	case 2, 3:
		return fmt.Sprint("drain ", n.ID), dryrun.Change{Node: &dryrun.NodeChange{ID: n.ID, Wish: &draining}}
	case 4:
		return fmt.Sprint("lose ", n.ID), dryrun.Change{Node: &dryrun.NodeChange{ID: n.ID, Lost: true}}
	case 5:
		return fmt.Sprint("remove ", n.ID), dryrun.Change{Node: &dryrun.NodeChange{ID: n.ID, Remove: true}}
	case 6:
		h := inventory.Hold{Domain: rack, By: "ops", Since: v.At}
		what := fmt.Sprint("nothing moves: hold ", rack)
		if rng.IntN(2) == 0 {
			h.From, what = v.At.Add(1), fmt.Sprint("carry out ", rack)
		}
		return what, dryrun.Change{Hold: &dryrun.HoldChange{Hold: h}}
	case 7:
		return fmt.Sprint("remove ", m), dryrun.Change{Model: &dryrun.ModelChange{Name: m, Remove: true}}
	case 8:
		next := randomModel(rng, "new")
		return "add new", dryrun.Change{Model: &dryrun.ModelChange{Name: "new", Put: &next}}
	}
	s := catalog.Scaling{Min: rng.IntN(6)}
	return fmt.Sprint("scale ", m, " to ", s.Min), dryrun.Change{Model: &dryrun.ModelChange{Name: m, Edit: &catalog.Change{Scaling: &s}}}
}
