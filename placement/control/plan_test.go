package control_test

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/dryrun"
)

// A dry run goes on from what the loop knows and remembers, and leaves it alone.
func TestPlanChangeLeavesTheLoopAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sort := model("sort", 2)
		sort.Class = catalog.ClassBatch
		chat := model("chat", 1)
		chat.Class = catalog.ClassCritical
		s := newStore()
		r := start(t, "one", s, newModels(sort), fullNode, nil, nil)
		defer r.stop()
		r.obey(2)
		before := *r.loop.View()
		if before.Memory.Cache != nil || before.Memory.Next < 3 {
			t.Errorf("want what the loop remembers, without its cache, got %+v", before.Memory)
		}
		got, err := r.loop.PlanChange(dryrun.Change{Model: &dryrun.ModelChange{Name: "chat", Put: &chat}})
		if err != nil || len(got.Placed) != 1 || len(got.Preempted) != 1 || got.Preempted[0].By != "chat" {
			t.Errorf("want chat in the place of a lower class, got %+v, %v", got, err)
		}
		wish := inventory.WishDraining
		got, err = r.loop.PlanChange(dryrun.Change{Node: &dryrun.NodeChange{ID: "a1", Wish: &wish}})
		if err != nil || len(got.Lost) != 2 {
			t.Errorf("want both lost, got %+v, %v", got, err)
		}
		after(time.Second)
		if now := r.loop.View(); !reflect.DeepEqual(now.Replicas, before.Replicas) || now.Fleet.Node("a1").State() != inventory.StateReady {
			t.Errorf("the dry run has changed what runs: %+v", now.Replicas)
		}
	})
}
