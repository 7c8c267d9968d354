package reconciler_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/reconciler"
)

// viewOf is a look at a fleet as text, with these definitions and a running
// replica for everything that is allocated.
func viewOf(t *testing.T, fleet string, models ...catalog.Model) *reconciler.View {
	t.Helper()
	snapshot, err := inventorytest.Parse(fleet)
	if err != nil {
		t.Fatal(err)
	}
	v := &reconciler.View{At: time.Unix(1000, 0), Fleet: snapshot}
	var entries []catalog.Entry
	for _, m := range models {
		entries = append(entries, catalog.Entry{Model: m, Revision: 1})
	}
	v.Catalog = catalog.NewIndex(1, entries)
	for _, n := range snapshot.Nodes() {
		for _, a := range n.Allocations {
			v.Replicas = append(v.Replicas, reconciler.Replica{
				ID: reconciler.ReplicaID(a.Replica), Model: catalog.Name(a.Model), Phase: reconciler.Run,
				CreatedAt: time.Unix(0, 0), Shards: []reconciler.Shard{{ID: reconciler.ShardID(a.Shard), Spot: a}},
			})
		}
	}
	return v
}

func gpus(name catalog.Name, class catalog.Class, count int) catalog.Model {
	return catalog.Model{Name: name, Class: class, Profiles: []catalog.Profile{
		{Name: "main", Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Count: count}},
	}}
}

func mustHelp(t *testing.T, v *reconciler.View, model catalog.Name) reconciler.Help {
	t.Helper()
	h, err := reconciler.Reconciler{}.Help(v, model, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func wantFix(t *testing.T, h reconciler.Help, text string) {
	t.Helper()
	if !strings.HasPrefix(h.Fix.Text+h.Why, text) {
		t.Errorf("want %q, got %q %q", text, h.Fix.Text, h.Why)
	}
}

func TestFixOfAView(t *testing.T) {
	t.Parallel()
	m, x, y := gpus("m", "", 4), gpus("x", catalog.ClassBatch, 4), gpus("y", "", 4)
	full := "a1 gpu=8xH100-80 alloc=x-1.0:x:0-3 alloc=y-1.0:y:4-7"
	v := viewOf(t, full, m, x, y)
	wantFix(t, mustHelp(t, v, "m"), "Stop replica x-1:")

	// What leaves already, or is of a removed model, is nobody to be stopped.
	v.Replicas[0].Phase = reconciler.Drain
	wantFix(t, mustHelp(t, v, "m"), "Stop replica y-1:")
	v.Catalog = catalog.NewIndex(2, []catalog.Entry{{Model: m}})
	wantFix(t, mustHelp(t, v, "m"), "No small change makes room.")

	// What is ordered takes room that the fleet does not show yet.
	v = viewOf(t, full, m, x, y)
	bare, err := inventorytest.Parse("a1 gpu=8xH100-80")
	if err != nil {
		t.Fatal(err)
	}
	v.Fleet = bare
	wantFix(t, mustHelp(t, v, "m"), "Stop replica x-1:")

	if _, err := (reconciler.Reconciler{}).Help(v, "nobody", nil); !errors.Is(err, reconciler.ErrNoModel) {
		t.Errorf("an unknown model: got %v", err)
	}
}

// A hold that has not begun, or has ended, stands in nobody's way.
func TestFixCountsHoldsInForce(t *testing.T) {
	t.Parallel()
	v := viewOf(t, "a1 gpu=8xH100-80 rack=r1 room=a", gpus("m", "", 4))
	hold := func(level inventory.Level, name string, from time.Time) inventory.Hold {
		return inventory.Hold{Domain: inventory.Domain{Level: level, Name: name}, By: "ops", From: from}
	}
	v.Fleet = v.Fleet.WithHolds([]inventory.Hold{
		hold(inventory.LevelRack, "r1", time.Time{}), hold(inventory.LevelRoom, "a", v.At.Add(time.Hour)),
	}, v.At)
	wantFix(t, mustHelp(t, v, "m"), "Release the hold of rack r1: then it fits")
}

// Weights go only where it is known that nobody needs them.
func TestFixKnowsNeededWeights(t *testing.T) {
	t.Parallel()
	files := func(m catalog.Model, name string) catalog.Model {
		m.Source, m.Files = "hf://org/"+name, []catalog.File{{Path: name, Bytes: 60 << 30}}
		return m
	}
	m, x := files(gpus("m", "", 4), "m.gguf"), files(gpus("x", "", 4), "x.gguf")
	fleet := "a1 gpu=8xH100-80 disk=30/500 weights=x.gguf:60+old.gguf:60"
	wantFix(t, mustHelp(t, viewOf(t, fleet, m, x), "m"), "Remove the weights on node a1")
	old := files(gpus("old", "", 4), "old.gguf")
	wantFix(t, mustHelp(t, viewOf(t, fleet, m, x, old), "m"), "No small change makes room.")
	x.Files = nil // it does not say what it needs
	wantFix(t, mustHelp(t, viewOf(t, fleet, m, x), "m"), "No small change makes room.")
}

// Headroom tells of the first replica that does not fit, and changes nothing.
func TestFixOfHeadroom(t *testing.T) {
	t.Parallel()
	v := viewOf(t, "a1 gpu=8xH100-80 alloc=y-1.0:y:4-7\na2 gpu=4xH100-80 cordoned\n", gpus("m", "", 2), gpus("y", "", 4))
	before := inventorytest.Format(v.Fleet)
	h, err := reconciler.Reconciler{}.Headroom(v, "m", 64, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Spots) != 2 || len(h.Blocked.Profiles) != 1 || len(h.Blocked.Profiles[0].Lines) != 2 {
		t.Errorf("want two more and a line for each node, got %+v", h)
	}
	wantFix(t, h.Help, "Uncordon node a2:")
	if after := inventorytest.Format(v.Fleet); after != before {
		t.Errorf("the fleet has changed to\n%s", after)
	}
	if h, err = (reconciler.Reconciler{}).Headroom(v, "m", 1, nil); err != nil || h.Help.Fix.Text != "" || h.Help.Why != "" {
		t.Errorf("where the limit is reached nothing has to be mended, got %+v, %v", h.Help, err)
	}
}
