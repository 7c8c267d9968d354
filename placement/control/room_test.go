package control_test

import (
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
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
