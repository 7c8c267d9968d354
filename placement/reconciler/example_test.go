package reconciler_test

import (
	"fmt"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/reconciler"
)

// A world goes in, what should happen comes out. Carrying it out is the
// caller's; the next world shows how far that came.
func ExampleReconciler_Step() {
	fleet, err := inventorytest.Parse("a1 gpu=1xL4-24\na2 gpu=1xL4-24")
	if err != nil {
		fmt.Println(err)
		return
	}
	chat := catalog.Model{Name: "chat", Scaling: &catalog.Scaling{Min: 3}, Profiles: []catalog.Profile{{
		Name: "one-card", Engine: catalog.EngineSim, GPU: &catalog.GPU{Count: 1},
	}}}
	world := reconciler.World{
		Now: time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC), Fleet: fleet,
		Catalog: catalog.NewIndex(1, []catalog.Entry{{Model: chat, Revision: 1}}),
	}
	plan, memory := reconciler.Reconciler{}.Step(world, reconciler.Memory{})
	for _, a := range plan.Actions {
		fmt.Println(a.Kind, a.Replica.ID, "on", a.Replica.Shards[0].Spot.Node)
	}
	h := plan.Health["chat"]
	fmt.Println(h.Total, "of", h.Desired, "unplaceable:", h.Unplaceable, "next number:", memory.Next)
	// Output:
	// place chat-1 on a1
	// place chat-2 on a2
	// 2 of 3 unplaceable: true next number: 3
}
