package replay_test

import (
	"fmt"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/placement/replay"
)

// A pass is written down as the default decides it, and decided again with a
// scorer that likes the second node.
func ExampleRun() {
	fleet, err := inventorytest.Parse("a1 gpu=4xL4-24\na2 gpu=4xL4-24")
	if err != nil {
		panic(err)
	}
	w := reconciler.World{
		Now: time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC), Fleet: fleet,
		Catalog: catalog.NewIndex(1, []catalog.Entry{{Model: catalog.Model{Name: "tiny", Profiles: []catalog.Profile{{
			Name: "p", Engine: catalog.EngineSim, GPU: &catalog.GPU{Count: 2},
		}}}}}),
	}
	plan, after := reconciler.Reconciler{}.Step(w, reconciler.Memory{})
	var e replay.Encoder
	entry, _, err := e.Encode(replay.Pass{Epoch: 1, World: w, Plan: plan, After: after, Outcome: replay.Kept})
	if err != nil {
		panic(err)
	}
	entries := func(yield func([]byte, error) bool) { yield(entry.Data, nil) }

	fmt.Print(replay.Run(entries, reconciler.Reconciler{}))
	second := placement.Scorer{Name: "second", Score: func(n *inventory.Node, _ *catalog.Model, _ *catalog.Profile) float64 {
		return 1000 * float64(strings.Count(string(n.ID), "2"))
	}}
	other := replay.Run(entries, reconciler.Reconciler{Placer: placement.Placer{Scorers: []placement.Scorer{second}}})
	what, _, _ := strings.Cut(other.Differences[0].Text, ", because")
	fmt.Println(what)
	// Output:
	// 1 entries, 1 passes decided again from 2026-01-05T08:00:00Z to 2026-01-05T08:00:00Z
	// 1 decisions compared, 0 passes differ
	// model tiny, replica tiny-1: was placed on a1 [0-1] with profile p, would be placed on a2 [0-1] with profile p
}
