package control_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/control"
	"llmgw.io/llmgw/placement/reconciler"
)

const twoNodes = "a1 gpu=2xL4-24\na2 gpu=2xL4-24"

type ids = []reconciler.ReplicaID

func TestNewNamesAllThatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := control.New(control.Config{})
	for _, want := range []string{"Catalog", "Fleet", "Dispatcher", "Assignments", "Holder"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want a complaint about %s, got %v", want, err)
		}
	}
}

func TestAModelIsPlacedKeptDeliveredAndSeenReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels()
		var events notes
		r := start(t, "one", s, m, twoNodes, nil, func(c *control.Config) {
			c.Events.Happened = func(e reconciler.Event) { events.add("%s", e.Kind) }
		})
		defer r.stop()
		after(time.Second)
		m.set(model("tiny", 1))
		synctest.Wait() // the first change of a burst is looked at at once
		lists := r.dispatcher.all()
		if got := lists[len(lists)-1]; !cmp.Equal(got.ids, ids{"tiny-1"}) || got.epoch != 1 {
			t.Fatalf("want tiny-1 delivered at epoch 1, got %+v", got)
		}
		if got := s.ids(); !cmp.Equal(got, []string{"tiny-1"}) {
			t.Errorf("want tiny-1 kept, got %v", got)
		}
		if n := len(r.registry.Snapshot().Node("a1").Allocations); n != 1 {
			t.Errorf("want its room reserved on a1, got %d allocations", n)
		}
		changed := r.loop.Changed()
		r.say("a1", "tiny-1.0", inventory.ShardReady)
		after(60 * time.Millisecond)
		select {
		case <-changed:
		default:
			t.Error("want a newer view announced")
		}
		v := r.loop.View()
		if v.Health["tiny"].Ready != 1 || v.Replicas[0].ReadyAt.IsZero() || v.Epoch != 1 {
			t.Errorf("want it seen ready, got %+v", v.Health["tiny"])
		}
		if s.row("tiny-1").ReadyAt.IsZero() {
			t.Error("want ReadyAt kept")
		}
		if want := []string{"placed", "ready"}; !cmp.Equal(events.all(), want) {
			t.Errorf("want events %v, got %v", want, events.all())
		}
		before := len(r.dispatcher.all())
		after(time.Minute)
		if n := len(r.dispatcher.all()); n != before {
			t.Errorf("want nothing delivered while nothing changes, got %d lists", n-before)
		}
		// What a node says of itself may be a part of its orders.
		r.hear("a1 gpu=2xL4-24 mem=64")
		after(time.Second)
		if n := len(r.dispatcher.all()); n != before+1 {
			t.Errorf("want the list delivered once more, got %d lists", n-before)
		}
	})
}

// A process that dies after it kept a plan and before anybody heard of it leaves
// its successor everything.
// What is to be fetched ahead is made of definitions, so a change of one that moves no
// replica is delivered all the same.
func TestAChangeOfADefinitionIsDelivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels()
		r := start(t, "one", s, m, twoNodes, nil, nil)
		defer r.stop()
		after(time.Second)
		m.set(model("tiny", 1))
		after(time.Second)
		lists := len(r.dispatcher.all())
		after(time.Minute)
		if n := len(r.dispatcher.all()); n != lists {
			t.Errorf("the same is delivered %d times more", n-lists)
		}
		ahead := model("tiny", 1)
		ahead.Prefetch = &catalog.Prefetch{Nodes: []inventory.NodeID{"a1"}}
		m.set(ahead)
		after(time.Second)
		if n := len(r.dispatcher.all()); n != lists+1 {
			t.Errorf("want it delivered once, got %d times", n-lists)
		}
	})
}

func TestKilledBetweenKeepingAndDelivering(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 2))
		s.fail = func(method string) error {
			if method == "release one" {
				return errAway // a killed process gives up nothing
			}
			return nil
		}
		killed, gone := make(chan struct{}), make(chan struct{})
		dead := start(t, "one", s, m, twoNodes, nil, func(c *control.Config) {
			c.Dispatcher.(*dispatcher).before = func(l list) error {
				if len(l.ids) == 0 {
					return nil
				}
				close(killed)
				<-gone
				return errors.New("killed")
			}
		})
		<-killed
		dead.cancel()
		close(gone)
		<-dead.done
		if got := s.ids(); !cmp.Equal(got, []string{"tiny-1", "tiny-2"}) {
			t.Fatalf("want both kept, got %v", got)
		}
		restored := &recorder{}
		next := start(t, "two", s, m, twoNodes, restored.wrap, nil)
		defer next.stop()
		after(20 * time.Second)
		lists := next.dispatcher.all()
		if len(lists) == 0 || !cmp.Equal(lists[0].ids, ids{"tiny-1", "tiny-2"}) || lists[0].epoch != 2 {
			t.Fatalf("want the very first list to be what was ordered, at epoch 2, got %+v", lists)
		}
		if !cmp.Equal(restored.calls.all()[:1], []string{"restore 2"}) {
			t.Errorf("want the room restored before anything else, got %v", restored.calls.all())
		}
		if got := viewIDs(next.loop.View()); !cmp.Equal(got, ids{"tiny-1", "tiny-2"}) {
			t.Errorf("want nothing doubled, got %v", got)
		}
		m.set(model("tiny", 3))
		after(time.Second)
		if got := s.ids(); !cmp.Equal(got, []string{"tiny-1", "tiny-2", "tiny-3"}) {
			t.Errorf("want ids to go on, got %v", got)
		}
	})
}

func TestTwoLoopsOnOneStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		var led notes
		tell := func(name string) func(*control.Config) {
			return func(c *control.Config) {
				c.Events.Led = func(epoch int64, leading bool) { led.add("%s %d %t", name, epoch, leading) }
			}
		}
		one := start(t, "one", s, m, twoNodes, nil, tell("one"))
		defer one.stop()
		two := start(t, "two", s, m, twoNodes, nil, tell("two"))
		defer two.stop()
		after(time.Minute)
		if len(two.dispatcher.all()) > 0 || len(one.dispatcher.all()) == 0 {
			t.Fatalf("want only the first to deliver, got %v and %v", one.dispatcher.all(), two.dispatcher.all())
		}
		// The store no longer hears the first one: the second takes over.
		cutOff := func(method string) error {
			if method == "renew one" || method == "acquire one" {
				return errAway
			}
			return nil
		}
		s.set(func() { s.fail = cutOff })
		after(20 * time.Second)
		if got := two.dispatcher.all(); len(got) == 0 || got[0].epoch != 2 || !cmp.Equal(got[0].ids, ids{"tiny-1"}) {
			t.Fatalf("want the second to take over what is there, got %+v", got)
		}
		// The first one still believes that it leads; what it writes is refused.
		seen := one.loop.View()
		delivered := len(one.dispatcher.all())
		m.set(model("tiny", 1), model("more", 1))
		after(time.Second)
		if len(one.dispatcher.all()) != delivered {
			t.Error("want nothing delivered by the one that was fenced")
		}
		if got := s.ids(); !cmp.Equal(got, []string{"more-2", "tiny-1"}) {
			t.Errorf("want each placed once, got %v", got)
		}
		if one.loop.View() != seen {
			t.Error("want nothing published by the one that was fenced")
		}
		if want := []string{"one 1 true", "two 2 true", "one 1 false"}; !cmp.Equal(led.all(), want) {
			t.Errorf("want %v, got %v", want, led.all())
		}
		if _, err := one.loop.Retry(t.Context(), "tiny"); !errors.Is(err, reconciler.ErrNotLeading) {
			t.Errorf("want ErrNotLeading, got %v", err)
		}
	})
}

func TestStaleReserve(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		// change happens to a1 before the n-th Reserve.
		change func(r *inventory.Registry, n int)
		calls  []string
		node   inventory.NodeID
	}{
		"what still holds is kept on the new version": {
			change: func(r *inventory.Registry, n int) {
				if n == 1 {
					r.Apply("a1", inventory.Report{Facts: &inventory.Facts{Devices: r.Snapshot().Node("a1").Facts.Devices, Kernel: "new"}}, time.Now())
				}
			},
			calls: []string{"restore 0", "reserve 1: false", "reserve 1: true"}, node: "a1",
		},
		"what does not is decided anew": {
			change: func(r *inventory.Registry, n int) {
				if n == 1 {
					r.Apply("a1", inventory.Report{Facts: &inventory.Facts{Kernel: "new"}}, time.Now())
				}
			},
			calls: []string{"restore 0", "reserve 1: false", "reserve 1: true"}, node: "a2",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, m := newStore(), newModels()
				f := &recorder{}
				var registry *inventory.Registry
				f.reserve = func(n int) { tt.change(registry, n) }
				r := start(t, "one", s, m, twoNodes, f.wrap, nil)
				defer r.stop()
				registry = r.registry
				after(time.Second)
				m.set(model("tiny", 1))
				after(time.Second)
				if got := f.calls.all(); !cmp.Equal(got, tt.calls) {
					t.Errorf("want %v, got %v", tt.calls, got)
				}
				if got := s.row("tiny-1").Shards; len(got) != 1 || got[0].Node != tt.node {
					t.Errorf("want tiny-1 on %s, got %+v", tt.node, got)
				}
			})
		})
	}
}

// A fleet that changes under every attempt is not fought over: the loop waits
// for the next change, and nothing is kept or delivered.
func TestReserveThatNeverHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels()
		f := &recorder{}
		var spoil atomic.Bool
		spoil.Store(true)
		var registry *inventory.Registry
		f.reserve = func(n int) {
			if spoil.Load() {
				facts := registry.Snapshot().Node("a1").Facts
				facts.Kernel = fmt.Sprint(n)
				registry.Apply("a1", inventory.Report{Facts: &facts}, time.Now())
			}
		}
		r := start(t, "one", s, m, twoNodes, f.wrap, nil)
		defer r.stop()
		registry = r.registry
		after(time.Second)
		m.set(model("tiny", 1))
		synctest.Wait()
		if len(f.calls.all()) != 1+8 || len(s.ids()) > 0 {
			t.Errorf("want four rounds of two tries and nothing kept, got %v and %v", f.calls.all(), s.ids())
		}
		spoil.Store(false)
		after(time.Second)
		if got := s.ids(); !cmp.Equal(got, []string{"tiny-1"}) {
			t.Errorf("want it placed once the fleet rests, got %v", got)
		}
	})
}

func TestBurstOfChangesIsOnePass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		r := start(t, "one", s, m, twoNodes, nil, nil)
		defer r.stop()
		after(time.Second)
		before := r.traffic.passes()
		for range 40 {
			r.loop.Wake()
			after(time.Millisecond)
		}
		if n := r.traffic.passes() - before; n != 1 {
			t.Errorf("want one pass within 50 ms, got %d", n)
		}
		after(20 * time.Millisecond)
		if n := r.traffic.passes() - before; n != 2 {
			t.Errorf("want what came meanwhile looked at after 50 ms, got %d passes", n)
		}
	})
}

func TestAPassThatPanicsIsSurvived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels()
		r := start(t, "one", s, m, twoNodes, nil, nil)
		defer r.stop()
		after(time.Second)
		r.traffic.mu.Lock()
		r.traffic.panic = true
		r.traffic.mu.Unlock()
		m.set(model("tiny", 1))
		after(100 * time.Millisecond)
		if got := s.ids(); len(got) > 0 {
			t.Fatalf("want the pass dropped, got %v", got)
		}
		after(time.Second)
		if got := s.ids(); !cmp.Equal(got, []string{"tiny-1"}) {
			t.Errorf("want the loop to go on after a pause, got %v", got)
		}
	})
}

func TestOrders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		r := start(t, "one", s, m, twoNodes, nil, nil)
		defer r.stop()
		after(time.Second)
		r.say("a1", "tiny-1.0", inventory.ShardReady)
		after(time.Second)
		if _, err := r.loop.Retry(t.Context(), "nobody"); !errors.Is(err, reconciler.ErrNoModel) {
			t.Errorf("want ErrNoModel, got %v", err)
		}
		if _, err := r.loop.Headroom("nobody", 1); !errors.Is(err, reconciler.ErrNoModel) {
			t.Errorf("want ErrNoModel, got %v", err)
		}
		if h, err := r.loop.Headroom("tiny", 9); err != nil || len(h.Spots) != 3 {
			t.Errorf("want room for three more, got %d, %v", len(h.Spots), err)
		}
		err := r.loop.Restart(t.Context(), ids{"tiny-1", "nobody-1"}, reconciler.Replace)
		if !errors.Is(err, reconciler.ErrNoReplica) || s.row("tiny-1").Restart != "" {
			t.Errorf("want one unknown id to refuse all, got %v and %+v", err, s.row("tiny-1"))
		}
		if err := r.loop.Restart(t.Context(), ids{"tiny-1"}, reconciler.Replace); err != nil {
			t.Fatal(err)
		}
		// It has returned, so it is kept.
		if s.row("tiny-1").Restart != "replace" || !slices.Contains(s.ids(), "tiny-2") {
			t.Errorf("want the restart kept and its replacement ordered, got %v", s.ids())
		}
		if parked, err := r.loop.Retry(t.Context(), "tiny"); parked || err != nil {
			t.Errorf("want it not parked, got %t, %v", parked, err)
		}
	})
}

// An order that could not be kept while somebody waited for it is not carried
// out later.
func TestOrderThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		r := start(t, "one", s, m, twoNodes, nil, nil)
		defer r.stop()
		after(time.Second)
		r.say("a1", "tiny-1.0", inventory.ShardReady)
		after(time.Second)
		s.set(func() { s.fail = func(string) error { return errAway } })
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if err := r.loop.Restart(ctx, ids{"tiny-1"}, reconciler.Replace); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("want it told that nobody kept the order, got %v", err)
			}
			cancel()
		}
		s.set(func() { s.fail = nil })
		after(20 * time.Second)
		if got := s.ids(); !cmp.Equal(got, []string{"tiny-1"}) || s.row("tiny-1").Restart != "" {
			t.Errorf("want no restart, got %v and %+v", got, s.row("tiny-1"))
		}
		if err := r.loop.Restart(t.Context(), ids{"tiny-1"}, reconciler.Replace); err != nil || !slices.Contains(s.ids(), "tiny-2") {
			t.Errorf("want an order of now carried out, got %v, %v", s.ids(), err)
		}
	})
}

// An order that a pass breaks on is refused: one that stayed would break every
// later pass too.
func TestOrderThatAPassBreaksOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		r := start(t, "one", s, m, twoNodes, nil, nil)
		defer r.stop()
		after(time.Second)
		r.traffic.mu.Lock()
		r.traffic.panic = true
		r.traffic.mu.Unlock()
		began := time.Now()
		if err := r.loop.Restart(t.Context(), ids{"tiny-1"}, reconciler.InPlace); err == nil {
			t.Error("want the order refused")
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
		after(10 * time.Second)
		if row := s.row("tiny-1"); row.Restart != "" {
			t.Errorf("want it not carried out later, got %+v", row)
		}
		if err := r.loop.Restart(t.Context(), ids{"tiny-1"}, reconciler.InPlace); err != nil {
			t.Errorf("want the next one taken: %v", err)
		}
	})
}
