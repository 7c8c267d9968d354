package dryrun_test

import (
	"reflect"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/dryrun"
	"llmgw.io/llmgw/placement/reconciler"
)

func parse(t *testing.T, fleet string) *inventory.Snapshot {
	t.Helper()
	s, err := inventorytest.Parse(fleet)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func oneModel(name catalog.Name, s catalog.Scaling) catalog.Entry {
	return catalog.Entry{Revision: 1, Model: catalog.Model{
		Name: name, Source: "file:///w", Scaling: &s, Profiles: []catalog.Profile{{Name: "p", Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Count: 2}}},
	}}
}

func draining(id inventory.NodeID) dryrun.Change {
	wish := inventory.WishDraining
	return dryrun.Change{Node: &dryrun.NodeChange{ID: id, Wish: &wish}}
}

func mustPlan(t *testing.T, v *reconciler.View, c dryrun.Change) dryrun.Report {
	t.Helper()
	r, err := dryrun.Plan(reconciler.Reconciler{}, v, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What is under way is no part of what a change does.
func TestDryRunTellsOfTheChangeAlone(t *testing.T) {
	t.Parallel()
	v := settled(t, parse(t, "a1 gpu=4xH100-80\na2 gpu=4xH100-80 cordoned"), nil)
	v.Catalog = catalog.NewIndex(2, []catalog.Entry{oneModel("m", catalog.Scaling{Min: 2})})
	if r := mustPlan(t, v, draining("a2")); len(r.Placed) > 0 || len(r.Unplaceable) > 0 || len(r.Moved) > 0 {
		t.Errorf("what is wanted anyway fits on a1, and a drain of a2 does nothing; got %+v", r)
	}
}

// A drain that finds no room takes half an hour, in which windows close and models
// grow idle: that is none of its doing.
func TestDryRunLetsNothingElseHappen(t *testing.T) {
	t.Parallel()
	one, two := 1, 2
	entries := []catalog.Entry{
		oneModel("asked", catalog.Scaling{Min: 0, Max: &one}),
		oneModel("fixed", catalog.Scaling{Min: 1}),
		oneModel("timed", catalog.Scaling{Min: 2}),
	}
	c := dryrun.Play(reconciler.Reconciler{}, reconciler.World{
		Now: begin, Catalog: catalog.NewIndex(1, entries), Fleet: parse(t, "a1 gpu=2xH100-80\na2 gpu=2xH100-80\na3 gpu=2xH100-80\na4 gpu=2xH100-80"),
		Traffic: reconciler.Traffic{Models: map[catalog.Name]reconciler.ModelTraffic{"asked": {LastAsked: begin}}},
	}, reconciler.Memory{})
	v := &reconciler.View{At: begin.Add(1e9), Catalog: c.World.Catalog, Fleet: c.World.Fleet, Replicas: c.World.Replicas, Memory: c.Memory}
	plan, _ := reconciler.Reconciler{}.Step(reconciler.World{
		Now: v.At, Catalog: v.Catalog, Fleet: v.Fleet, Replicas: v.Replicas,
		Traffic: reconciler.Traffic{Models: map[catalog.Name]reconciler.ModelTraffic{"asked": {LastAsked: begin}}},
	}, v.Memory)
	v.Health = plan.Health
	entries[2] = oneModel("timed", catalog.Scaling{Min: 1, Max: &two, Schedule: []catalog.Window{{From: "08:00", Until: "08:10", Min: 2}}})
	v.Catalog = catalog.NewIndex(2, entries)
	if len(v.Replicas) != 4 {
		t.Fatalf("want a replica of each, and two of the timed one, got\n%s", standing(v))
	}
	home := map[catalog.Name]inventory.NodeID{}
	for _, r := range v.Replicas {
		home[r.Model] = r.Shards[0].Spot.Node
	}
	r := mustPlan(t, v, draining(home["fixed"]))
	if len(r.Lost) != 1 || r.Lost[0].Model != "fixed" || len(r.Moved)+len(r.Placed)+len(r.Preempted) > 0 {
		t.Errorf("want what stands on the node lost, and nothing else, got %+v", r)
	}
}

// Who asks now asks on.
func TestDryRunKeepsDemand(t *testing.T) {
	t.Parallel()
	one := 1
	v := settled(t, parse(t, "a1 gpu=4xH100-80 cordoned"), []catalog.Entry{oneModel("m", catalog.Scaling{Min: 0, Max: &one})})
	ready := inventory.WishReady
	for desired, want := range map[int]int{0: 0, 1: 1} {
		v.Health = map[catalog.Name]reconciler.ModelHealth{"m": {Why: reconciler.WhyDemand, Desired: desired}}
		if r := mustPlan(t, v, dryrun.Change{Node: &dryrun.NodeChange{ID: "a1", Wish: &ready}}); len(r.Placed) != want {
			t.Errorf("%d asked for: want %d placed, got %+v", desired, want, r)
		}
	}
}

// What the loop remembers counts: a parked model is not started by a change of
// something else.
func TestDryRunGoesOnFromMemory(t *testing.T) {
	t.Parallel()
	v := settled(t, parse(t, "a1 gpu=4xH100-80 cordoned"), []catalog.Entry{oneModel("m", catalog.Scaling{Min: 1})})
	ready := inventory.WishReady
	uncordon := dryrun.Change{Node: &dryrun.NodeChange{ID: "a1", Wish: &ready}}
	if r := mustPlan(t, v, uncordon); len(r.Placed) != 1 {
		t.Errorf("want it placed, got %+v", r)
	}
	v.Memory.Models = map[catalog.Name]reconciler.ModelMemory{"m": {Parked: true, Revision: 1, Failures: 5}}
	kept := v.Memory
	if r := mustPlan(t, v, uncordon); len(r.Placed) != 0 {
		t.Errorf("want it parked still, got %+v", r)
	}
	if !reflect.DeepEqual(v.Memory, kept) {
		t.Errorf("the memory has changed: %+v", v.Memory)
	}
}
