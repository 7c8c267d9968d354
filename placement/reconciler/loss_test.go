package reconciler_test

import (
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// TestLossOfAPDU: when a part of the fleet is gone that is too small for the
// brake, what stood there is placed again in one step, the highest class first,
// and nothing else is touched.
func TestLossOfAPDU(t *testing.T) {
	t.Parallel()
	l := newLarge(t, 1_000, 60, 2_000)
	if plan := l.step(); len(plan.Actions) > 0 {
		t.Fatalf("it is not at rest: %v", plan.Actions)
	}
	l.lose("p003")
	lost := map[reconciler.ReplicaID]bool{}
	for _, r := range l.Replicas {
		if reconciler.StateOf(&r, l.Fleet) == reconciler.StateLost {
			lost[r.ID] = true
		}
	}
	plan := l.step()
	if plan.Brake.On() || len(lost) < 100 {
		t.Fatalf("%d replicas are lost, with the brake %v", len(lost), plan.Brake)
	}
	last := catalog.ClassCritical.Rank()
	for _, a := range plan.Actions {
		e, _ := l.Catalog.Get(a.Replica.Model)
		if a.Kind != reconciler.Place || !lost[a.Replica.Replaces] {
			t.Fatalf("%s of %s, which replaces %q and was not lost", a.Kind, a.Replica.ID, a.Replica.Replaces)
		}
		for _, sh := range a.Replica.Shards {
			if n := l.Fleet.Node(sh.Spot.Node); n.Hearing != inventory.Heard {
				t.Errorf("%s is placed on %s, which is %s", a.Replica.ID, n.ID, n.State())
			}
		}
		rank := e.Model.Class.Rank()
		if rank > last {
			t.Errorf("%s is %s and comes after a lower class", a.Replica.ID, e.Model.Class)
		}
		last = rank
		delete(lost, a.Replica.Replaces)
	}
	if len(lost) > 0 {
		t.Errorf("%d lost replicas are not replaced", len(lost))
	}
	l.carryOut(plan)
	for range 3 {
		plan = l.step()
		l.carryOut(plan)
	}
	if len(plan.Actions) > 0 {
		t.Errorf("it does not come to rest: %v", plan.Actions[0])
	}
}
