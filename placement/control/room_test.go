package control_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/control"
	"llmgw.io/llmgw/placement/reconciler"
)

const fullNode = "a1 gpu=2xL4-24"

// obey lets the agent of a1 do what it is told for a while: what is to run is
// ready, what is to stop has stopped. No router speaks, so a drain takes its time.
func (r *rig) obey(rounds int) {
	for range rounds {
		var shards []inventory.ShardStatus
		for _, x := range r.loop.View().Replicas {
			st := inventory.ShardReady
			if x.Phase == reconciler.Stop {
				st = inventory.ShardStopped
			}
			for _, s := range x.Shards {
				shards = append(shards, inventory.ShardStatus{ID: string(s.ID), State: st, Since: x.CreatedAt})
			}
		}
		r.registry.Apply("a1", inventory.Report{Whole: true, Shards: shards}, time.Now())
		after(30 * time.Second)
	}
}

// Room that is taken, and whom the loser is held for, outlive the process that
// decided it.
func TestPreemptionOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sort, chat := model("sort", 2), model("chat", 1)
		sort.Class, chat.Class = catalog.ClassBatch, catalog.ClassCritical
		s, m := newStore(), newModels(sort)
		r := start(t, "one", s, m, fullNode, nil, nil)
		r.obey(2)
		if h, err := r.loop.Headroom("sort", 4); err != nil || len(h.Spots)+len(h.Preempting) != 0 {
			t.Errorf("want no room for more of the lowest class, got %+v, %v", h, err)
		}
		m.set(sort, chat)
		after(time.Second)
		if got := s.row("sort-1"); got.Phase != string(reconciler.Drain) || s.row("sort-2").Phase != string(reconciler.Run) {
			t.Fatalf("want one of them drained, got %+v", got)
		}
		r.stop()

		r = start(t, "two", s, m, fullNode, nil, nil)
		defer r.stop()
		r.obey(14)
		h := r.loop.View().Health
		if h["chat"].Ready != 1 || h["sort"].Ready != 1 {
			t.Errorf("want one of each ready, got %+v", h)
		}
		if got := h["sort"]; got.Preempted != 1 || got.HeldFor != "chat" || got.Why != reconciler.WhyPreempted {
			t.Errorf("want the loser held for chat, got %+v", got)
		}
		m.set(sort)
		r.obey(14)
		if got := r.loop.View().Health["sort"]; got.Ready != 2 || got.Preempted != 0 || got.HeldFor != "" {
			t.Errorf("want the loser back, got %+v", got)
		}
	})
}

// A fleet of two devices that is full gets a new definition, one replica after
// the other, and one of them serves at any time.
func TestRolloutOfAFullFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		old := model("tiny", 2)
		s, m := newStore(), newModels(old)
		r := start(t, "one", s, m, fullNode, nil, nil)
		defer r.stop()
		r.obey(2)
		next := model("tiny", 2)
		next.Profiles[0].Context = 4096
		m.set(next)
		r.obey(2)
		if got := viewIDs(r.loop.View()); len(got) != 2 || got[0] != "tiny-1" {
			t.Fatalf("want an edit to replace nothing, got %v", got)
		}
		if err := r.loop.Restart(t.Context(), ids{"tiny-1", "tiny-2"}, reconciler.Rollout); err != nil {
			t.Fatal(err)
		}
		for range 40 {
			r.obey(1)
			if h := r.loop.View().Health["tiny"]; h.Ready < 1 {
				t.Fatalf("want one ready at any time, got %+v", h)
			}
		}
		v := r.loop.View()
		for i := range v.Replicas {
			if x := &v.Replicas[i]; x.Profile.Context != 4096 || x.Restart != "" {
				t.Errorf("want the new definition everywhere, got %s with a context of %d, %q", x.ID, x.Profile.Context, x.Restart)
			}
		}
		if h := v.Health["tiny"]; h.Ready != 2 || len(h.Clamps) > 0 {
			t.Errorf("want it finished, got %+v", h)
		}
	})
}

// One that fails in place goes back to what it was, though the control plane
// changes in between: what it was is kept with the assignments.
func TestRolloutGoesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		fleet := "a1 gpu=1xL4-24"
		r := start(t, "one", s, m, fleet, nil, nil)
		r.obey(2)
		next := model("tiny", 1)
		next.Profiles[0].Context = 4096
		m.set(next)
		if err := r.loop.Restart(t.Context(), ids{"tiny-1"}, reconciler.Rollout); err != nil {
			t.Fatal(err)
		}
		for range 40 {
			if slices.Contains(s.ids(), "tiny-2") {
				break
			}
			r.obey(1)
		}
		if got := s.row("tiny-2"); got.Profile.Context != 4096 {
			t.Fatalf("want the new definition tried, got %+v", got)
		}
		r.stop()
		r = start(t, "two", s, m, fleet, nil, nil)
		defer r.stop()
		r.registry.Apply("a1", inventory.Report{Whole: true, Shards: []inventory.ShardStatus{
			{ID: "tiny-2.0", State: inventory.ShardFailed, Error: "It does not fit."},
		}}, time.Now())
		after(10 * time.Second)
		r.obey(4)
		v := r.loop.View()
		if len(v.Replicas) != 1 || v.Replicas[0].ID != "tiny-3" || v.Replicas[0].Profile.Context == 4096 || v.Health["tiny"].Ready != 1 {
			t.Errorf("want one that is as before, got %+v, %+v", v.Replicas, v.Health["tiny"])
		}
	})
}

// obeyAll is obey for the agents of several nodes, where routers speak too.
func (r *rig) obeyAll(rounds int, nodes ...inventory.NodeID) {
	for range rounds {
		shards := map[inventory.NodeID][]inventory.ShardStatus{}
		for _, x := range r.loop.View().Replicas {
			st := inventory.ShardReady
			if x.Phase == reconciler.Stop {
				st = inventory.ShardStopped
			}
			for _, s := range x.Shards {
				shards[s.Spot.Node] = append(shards[s.Spot.Node], inventory.ShardStatus{ID: string(s.ID), State: st, Since: x.CreatedAt})
			}
		}
		for _, id := range nodes {
			r.registry.Apply(id, inventory.Report{Whole: true, Shards: shards[id]}, time.Now())
		}
		after(5 * time.Second)
	}
}

// A model that was refused gets room by a move: the one that moves is replaced
// first and serves all the while. How many moved is not forgotten with the
// process.
func TestMoveMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		small, big := model("small", 2), model("big", 1)
		big.Profiles[0].GPU = &catalog.GPU{Count: 2}
		s, m := newStore(), newModels(small)
		fleet := "a1 gpu=2xL4-24\na2 gpu=2xL4-24"
		var told []string
		allow := func(cfg *control.Config) {
			cfg.Moves = 50
			cfg.Events.Happened = func(e reconciler.Event) {
				if e.Kind == reconciler.EventMoved {
					told = append(told, e.Text)
				}
			}
		}
		r := start(t, "one", s, m, fleet, nil, nil)
		r.obeyAll(2, "a1", "a2")
		m.set(small, big)
		r.obeyAll(2, "a1", "a2")
		if h := r.loop.View().Health["big"]; !h.Unplaceable {
			t.Fatalf("want nobody to move unless that is allowed, got %+v", h)
		}
		r.stop()

		r = start(t, "two", s, m, fleet, nil, allow)
		moving := func() string { return s.row("small-1").Restart + s.row("small-2").Restart }
		for range 20 {
			if r.obeyAll(1, "a1", "a2"); moving() != "" {
				break
			}
		}
		if moving() != string(reconciler.Moving) {
			t.Fatalf("want one that moves, got %q", moving())
		}
		r.stop()

		// The one that leads next goes on with it.
		r = start(t, "three", s, m, fleet, nil, allow)
		defer r.stop()
		for range 90 {
			r.obeyAll(1, "a1", "a2")
			if h := r.loop.View().Health["small"]; h.Ready < 2 {
				t.Fatalf("want two ready at any time, got %+v", h)
			}
		}
		if h := r.loop.View().Health; h["big"].Ready != 1 || h["small"].Ready != 2 || len(told) != 1 {
			t.Errorf("want all ready after one move, got %+v and %q", h, told)
		}
		m.set(small, big, func() catalog.Model { more := big; more.Name = "more"; return more }())
		r.obeyAll(2, "a1", "a2")
		if h := r.loop.View().Health["more"]; !h.Unplaceable || len(told) != 1 {
			t.Errorf("want no other move in this hour, got %+v and %q", h, told)
		}
	})
}
