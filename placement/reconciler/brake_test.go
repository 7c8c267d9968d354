package reconciler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// keptByBrake is the law of the brake: what is lost and has no replacement is
// neither stopped nor replaced while it is set.
func (b *sandbox) keptByBrake(before reconciler.World, plan reconciler.Plan) error {
	if !plan.Brake.On() {
		return nil
	}
	lost := map[reconciler.ReplicaID]bool{}
	for _, r := range before.Replicas {
		if r.Phase == reconciler.Run && reconciler.StateOf(&r, before.Fleet) == reconciler.StateLost {
			lost[r.ID] = true
		}
	}
	for _, r := range before.Replicas {
		if r.Phase == reconciler.Run {
			delete(lost, r.Replaces)
		}
	}
	for _, a := range plan.Actions {
		switch {
		case a.Kind == reconciler.Place && lost[a.Replica.Replaces]:
			return fmt.Errorf("%s is placed for the lost %s under the brake", a.Replica.ID, a.Replica.Replaces)
		case a.Kind == reconciler.Update && a.Replica.Phase != reconciler.Run && lost[a.Replica.ID]:
			return fmt.Errorf("the lost %s is stopped under the brake: %s", a.Replica.ID, a.Why)
		}
	}
	return nil
}

// cutOff is a fleet of 200 nodes with a ready replica on each.
func cutOff(t *testing.T) *sandbox {
	t.Helper()
	var fleet strings.Builder
	for i := range 200 {
		fmt.Fprintf(&fleet, "n%03d gpu=1xL4-24\n", i)
	}
	b, err := newSandbox(fleet.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.do("model chat min=190"); err != nil {
		t.Fatal(err)
	}
	b.mustStep(t)
	for id := range b.replicas {
		if err := b.report(b.homes[string(id)+".0"], inventory.ShardStatus{ID: string(id) + ".0", State: inventory.ShardReady}); err != nil {
			t.Fatal(err)
		}
	}
	b.mustStep(t)
	return b
}

func (b *sandbox) mustStep(t *testing.T) reconciler.Plan {
	t.Helper()
	before := b.world()
	plan, err := b.step()
	if err == nil {
		err = b.keptByBrake(before, plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// hear changes what is heard of the nodes from one number up to another.
func (b *sandbox) hear(t *testing.T, from, to int, h inventory.Hearing) {
	t.Helper()
	for i := from; i < to; i++ {
		id := inventory.NodeID(fmt.Sprintf("n%03d", i))
		if err := b.edit(id, func(n *inventory.Node) { n.Hearing = h }); err != nil {
			t.Fatal(err)
		}
	}
}

// Three in five of 200 nodes are cut off for ten minutes. They fall silent one
// after the other, and come back one after the other, within seconds.
func TestCutOffForTenMinutes(t *testing.T) {
	t.Parallel()
	b := cutOff(t)
	was := len(b.used)
	look := func(d time.Duration) {
		b.now = b.now.Add(d)
		if plan := b.mustStep(t); len(plan.Actions) != 0 {
			t.Fatalf("nothing may be ordered, got %s", b.showActions(plan))
		}
	}
	for i := range 12 {
		b.hear(t, 10*i, 10*i+10, inventory.Unreachable)
		look(500 * time.Millisecond)
	}
	for i := range 12 {
		b.hear(t, 10*i, 10*i+10, inventory.Lost)
		look(4 * time.Second)
	}
	if !b.last.Brake.On() || b.last.Health["chat"].Ready != 70 {
		t.Fatalf("want the brake, and 70 that are heard, got %+v and %+v", b.last.Brake, b.last.Health["chat"])
	}
	for range 110 {
		look(5 * time.Second)
	}
	for i := range 12 {
		b.hear(t, 10*i, 10*i+10, inventory.Heard)
		look(2 * time.Second)
	}
	look(2 * time.Minute)
	if b.last.Brake.On() || len(b.replicas) != 190 || len(b.used) != was {
		t.Errorf("want no brake and the 190 replicas there were, got %+v, %d, and %d that were ordered", b.last.Brake, len(b.replicas), len(b.used)-was)
	}
}

// A control plane that starts while they are cut off has no memory of it. It
// hears the others, and those that stay away until they are lost set the brake.
func TestBrakeAfterARestart(t *testing.T) {
	t.Parallel()
	b := cutOff(t)
	shards := map[inventory.NodeID][]inventory.ShardStatus{}
	for id, n := range b.nodes {
		shards[id] = n.Shards
	}
	if err := b.restartControl(); err != nil {
		t.Fatal(err)
	}
	if plan := b.mustStep(t); plan.Brake.On() {
		t.Fatalf("who was not heard yet is not lost, got %+v", plan.Brake)
	}
	for i := 120; i < 200; i++ {
		id := inventory.NodeID(fmt.Sprintf("n%03d", i))
		b.edit(id, func(n *inventory.Node) { n.Hearing, n.ShardsKnown, n.Shards = inventory.Heard, true, shards[id] })
	}
	b.now = b.now.Add(time.Minute)
	b.hear(t, 0, 120, inventory.Lost)
	if plan := b.mustStep(t); !plan.Brake.On() || len(plan.Actions) != 0 {
		t.Errorf("want the brake and no order, got %+v, %s", plan.Brake, b.showActions(plan))
	}
}
