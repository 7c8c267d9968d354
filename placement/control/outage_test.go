package control_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/control"
	"llmgw.io/llmgw/placement/reconciler"
)

// While the store is away nothing is ordered, nothing is stopped, and what
// agents say is seen all the same.
func TestStoreOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		r := start(t, "one", s, m, twoNodes, nil, nil)
		defer r.stop()
		after(time.Second)
		delivered := len(r.dispatcher.all())
		s.set(func() { s.fail = func(string) error { return errAway } })
		m.set() // the model is removed, which cannot be kept now
		after(time.Minute)
		r.say("a1", "tiny-1.0", inventory.ShardReady)
		after(60 * time.Millisecond)
		v := r.loop.View()
		if !cmp.Equal(viewIDs(v), ids{"tiny-1"}) || v.Replicas[0].Phase != reconciler.Run {
			t.Errorf("want the last view to stay, got %+v", v.Replicas)
		}
		if got := reconciler.StateOf(&v.Replicas[0], v.Fleet); got != reconciler.StateReady {
			t.Errorf("want it seen ready, got %s", got)
		}
		after(5 * time.Minute)
		if n := len(r.dispatcher.all()); n != delivered {
			t.Errorf("want nothing delivered meanwhile, got %d lists", n-delivered)
		}
		s.set(func() { s.fail = nil })
		after(10 * time.Second)
		if v := r.loop.View(); len(v.Replicas) != 1 || v.Replicas[0].Phase == reconciler.Run {
			t.Errorf("want the replica of the removed model on its way out, got %+v", v.Replicas)
		}
	})
}

// A process that starts while the store is away waits, and shows no replicas
// rather than to order them again.
func TestStartWithoutStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels(model("tiny", 1))
		s.fail = func(method string) error {
			if method == "load" {
				return errAway
			}
			return nil
		}
		r := start(t, "one", s, m, twoNodes, nil, nil)
		defer r.stop()
		after(time.Minute)
		if n := len(r.dispatcher.all()); n > 0 {
			t.Fatalf("want nothing delivered before the store was read, got %d lists", n)
		}
		if v := r.loop.View(); v == nil || v.Epoch != 0 {
			t.Errorf("want the view of the start, got %+v", v)
		}
		s.set(func() { s.fail = nil })
		after(6 * time.Second)
		if got := s.ids(); !cmp.Equal(got, []string{"tiny-1"}) {
			t.Errorf("want it placed, got %v", got)
		}
	})
}

// A write of which nobody knows whether it was made may have been: the store is
// read again, and what it has is adopted.
func TestWriteOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels()
		r := start(t, "one", s, m, twoNodes, nil, nil)
		defer r.stop()
		after(time.Second)
		s.set(func() {
			s.after = func() error {
				s.after = nil
				return errors.New("the connection broke")
			}
		})
		m.set(model("tiny", 1))
		synctest.Wait()
		if n := len(r.registry.Snapshot().Node("a1").Allocations); n != 0 {
			t.Errorf("want the reservation given back, got %d", n)
		}
		// Another model comes before the loop tries again; it must not get the id.
		m.set(model("tiny", 1), model("big", 1))
		after(time.Second)
		if got := s.ids(); !cmp.Equal(got, []string{"big-2", "tiny-1"}) {
			t.Errorf("want tiny-1 adopted and big-2 placed, got %v", got)
		}
		if got := viewIDs(r.loop.View()); !cmp.Equal(got, ids{"big-2", "tiny-1"}) {
			t.Errorf("want both shown, got %v", got)
		}
		if n := len(r.registry.Snapshot().Node("a1").Allocations) + len(r.registry.Snapshot().Node("a2").Allocations); n != 2 {
			t.Errorf("want room for both, got %d", n)
		}
	})
}

// What could not be delivered is delivered whole, a moment later.
func TestDispatchIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newStore(), newModels()
		var fails atomic.Bool
		r := start(t, "one", s, m, twoNodes, nil, func(c *control.Config) {
			c.Dispatcher.(*dispatcher).before = func(list) error {
				if fails.Load() {
					return errors.New("the hub is not ready")
				}
				return nil
			}
		})
		defer r.stop()
		after(time.Second)
		fails.Store(true)
		m.set(model("tiny", 1))
		synctest.Wait()
		m.set(model("tiny", 2))
		after(100 * time.Millisecond)
		fails.Store(false)
		after(2 * time.Second)
		lists := r.dispatcher.all()
		if got := lists[len(lists)-1].ids; !cmp.Equal(got, ids{"tiny-1", "tiny-2"}) {
			t.Errorf("want the whole list, got %v", got)
		}
		if got := s.ids(); !cmp.Equal(got, []string{"tiny-1", "tiny-2"}) {
			t.Errorf("want each kept once, got %v", got)
		}
	})
}
