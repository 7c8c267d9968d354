package control_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// tenNodes are nodes with room for one replica each.
func tenNodes() string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "n%d gpu=1xL4-24\n", i)
	}
	return b.String()
}

// live lets seconds pass in which the nodes from one number on send their beats.
func (r *rig) live(from, seconds int) {
	for i := range seconds {
		for n := from; n < 10 && i%5 == 0; n++ {
			r.registry.Apply(inventory.NodeID(fmt.Sprintf("n%d", n)), inventory.Report{}, time.Now())
		}
		r.registry.Tick(time.Now())
		after(time.Second)
	}
}

// Six of ten nodes are cut off for ten minutes, and the store fails in between:
// everything is as it was when they are back.
func TestCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 8))
		r := start(t, "one", s, m, tenNodes(), nil, nil)
		defer r.stop()
		after(time.Second)
		for _, x := range r.loop.View().Replicas {
			r.say(x.Shards[0].Spot.Node, string(x.Shards[0].ID), inventory.ShardReady)
		}
		r.live(0, 10)
		was := r.loop.View().Replicas
		r.live(6, 300)
		if v := r.loop.View(); !v.Brake.On() || !cmp.Equal(v.Replicas, was) {
			t.Fatalf("want the brake and nothing changed, got %+v, %+v", v.Brake, v.Replicas)
		}
		since := r.loop.View().Brake.Since
		s.set(func() { s.fail = func(string) error { return errAway } })
		r.say("n9", "tiny-1.0", inventory.ShardReady)
		m.set(model("tiny", 8), model("other", 1))
		r.live(6, 60)
		s.set(func() { s.fail = nil })
		r.live(6, 240)
		if got := r.loop.View().Brake.Since; !got.Equal(since) {
			t.Errorf("a store that was away starts the brake anew: set at %s, now %s", since, got)
		}
		r.live(0, 120)
		v := r.loop.View()
		if v.Brake.On() || !cmp.Equal(v.Of("tiny"), was) {
			t.Errorf("want no brake and the eight there were, got %+v, %+v", v.Brake, v.Of("tiny"))
		}
	})
}

func TestReleaseBrake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 4))
		r := start(t, "one", s, m, tenNodes(), nil, nil)
		defer r.stop()
		r.live(0, 2)
		if was, err := r.loop.ReleaseBrake(t.Context()); was || err != nil {
			t.Errorf("there is no brake yet, got %t, %v", was, err)
		}
		r.live(3, 120)
		was, err := r.loop.ReleaseBrake(t.Context())
		r.live(3, 2)
		v := r.loop.View()
		if !was || err != nil || v.Brake.On() || len(v.Replicas) != 7 {
			t.Errorf("want it released and the three replaced, got %t, %v, %+v, %d replicas", was, err, v.Brake, len(v.Replicas))
		}
	})
}

// A hold that carries out begins by itself, at its time.
func TestPlannedHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		r := start(t, "one", s, m, "a1 gpu=1xL4-24 rack=r1\nb1 gpu=1xL4-24 rack=r2", nil, nil)
		defer r.stop()
		hold := inventory.Hold{
			Domain: inventory.Domain{Level: inventory.LevelRack, Name: "r1"}, From: time.Now().Add(5 * time.Second), Until: time.Now().Add(time.Minute),
		}
		if p := r.loop.PlanHold(hold); len(p.Models) != 1 || len(p.Models[0].Moves) != 1 || !cmp.Equal(p.Models[0].Moves[0].To, []inventory.NodeID{"b1"}) {
			t.Errorf("want a plan that moves it to b1, got %+v", p)
		}
		if _, err := r.registry.Hold(t.Context(), hold, time.Now(), inventory.Author{Principal: "test"}); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			r.registry.Tick(time.Now())
			after(time.Second)
		}
		v := r.loop.View()
		if len(v.Replicas) != 2 || v.Replicas[1].Replaces != v.Replicas[0].ID || v.Replicas[1].Shards[0].Spot.Node != "b1" {
			t.Fatalf("want its replacement on b1, got %+v", v.Replicas)
		}
		var left []reconciler.ReplicaID
		r.say("b1", string(v.Replicas[1].Shards[0].ID), inventory.ShardReady)
		after(time.Second)
		r.registry.Apply("a1", inventory.Report{Whole: true}, time.Now())
		after(20 * time.Second)
		for _, x := range r.loop.View().Replicas {
			left = append(left, x.ID)
		}
		if !cmp.Equal(left, []reconciler.ReplicaID{"tiny-2"}) {
			t.Errorf("want the old one gone, got %v", left)
		}
	})
}
