package inventory_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

func TestSetWishIsKept(t *testing.T) {
	t.Parallel()
	store := &inventorytest.Store{}
	r := open(t, store, start)
	r.Apply("a", inventory.Report{Facts: eightCards()}, start)
	for _, c := range []struct {
		wish inventory.Wish
		want inventory.NodeState
	}{
		{inventory.WishCordoned, inventory.StateCordoned},
		{inventory.WishDraining, inventory.StateDraining},
		{inventory.WishDraining, inventory.StateDraining},
		{inventory.WishReady, inventory.StateReady},
	} {
		n, err := r.SetWish(t.Context(), "a", c.wish, ops)
		if err != nil || n.State() != c.want || r.Snapshot().Node("a").State() != c.want {
			t.Errorf("want %s, got %v, %v", c.want, n, err)
		}
	}
	if got := len(store.Authors()); got != 3 {
		t.Errorf("want 3 writes, none for a wish that is in force already, got %d", got)
	}
	if _, err := r.SetWish(t.Context(), "b", inventory.WishCordoned, ops); !errors.Is(err, inventory.ErrNotFound) {
		t.Errorf("want ErrNotFound for a node that is not known, got %v", err)
	}
	if _, err := r.SetWish(t.Context(), "a", "asleep", ops); !errors.Is(err, inventory.ErrState) {
		t.Errorf("want ErrState for a wish that there is not, got %v", err)
	}
}

// Another process has written the row meanwhile: what it set is kept, and the
// wish is put on top of it.
func TestSetWishOnANewerRow(t *testing.T) {
	t.Parallel()
	store := &inventorytest.Store{}
	r := open(t, store, start)
	r.Apply("a", inventory.Report{}, start)
	if _, err := store.PutNodeSettings(t.Context(), inventory.NodeSettings{Node: "a", Labels: map[string]string{"tier": "gold"}}, 0, ops); err != nil {
		t.Fatal(err)
	}
	n, err := r.SetWish(t.Context(), "a", inventory.WishCordoned, ops)
	if err != nil || n.Label("tier") != "gold" || n.State() != inventory.StateCordoned {
		t.Errorf("want it cordoned with the other's label, got %+v, %v", n, err)
	}
}

func TestSetWishWhenTheStoreIsAway(t *testing.T) {
	t.Parallel()
	away := errors.New("store is away")
	store := &inventorytest.Store{Fail: func(method string) error {
		if method == "PutNodeSettings" {
			return away
		}
		return nil
	}}
	r := open(t, store, start)
	r.Apply("a", inventory.Report{}, start)
	if _, err := r.SetWish(t.Context(), "a", inventory.WishCordoned, ops); !errors.Is(err, away) {
		t.Errorf("want the store's error, got %v", err)
	}
	if got := r.Snapshot().Node("a").State(); got != inventory.StateReady {
		t.Errorf("what was not kept is not in force: want ready, got %s", got)
	}
}

// A beat comes while the store is being written: nothing waits, nothing is lost.
func TestStoreIsCalledWithoutTheLock(t *testing.T) {
	t.Parallel()
	var r *inventory.Registry
	store := &inventorytest.Store{Fail: func(method string) error {
		if !strings.HasPrefix(method, "List") {
			r.Apply("a", inventory.Report{Facts: &inventory.Facts{MemoryMB: 7}}, start)
		}
		return nil
	}}
	r = open(t, store, start)
	r.Apply("a", inventory.Report{}, start)
	n, err := r.SetWish(t.Context(), "a", inventory.WishCordoned, ops)
	if err != nil || n.Facts.MemoryMB != 7 || n.State() != inventory.StateCordoned {
		t.Errorf("want the wish and the beat, got %+v, %v", n, err)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	held := []inventory.Allocation{{Shard: "m-1.0", Replica: "m-1", Node: "a"}}
	cases := []struct {
		name    string
		silent  time.Duration
		has     []inventory.Allocation
		problem string
	}{
		{name: "heard", silent: 0, problem: "stop its agent (systemctl stop llmgw-agent)"},
		{name: "unreachable with nothing placed", silent: 20 * time.Second},
		{name: "unreachable with something placed", silent: 20 * time.Second, has: held, problem: "remove it once it is lost"},
		{name: "lost with something placed", silent: 70 * time.Second, has: held},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := &inventorytest.Store{}
			r := open(t, store, start)
			r.Apply("a", inventory.Report{}, start)
			r.Restore(c.has)
			for s := time.Second; s <= c.silent; s += time.Second {
				r.Tick(start.Add(s))
			}
			err := r.Forget(t.Context(), "a", ops)
			if c.problem != "" {
				if !errors.Is(err, inventory.ErrState) || !strings.Contains(err.Error(), c.problem) || r.Snapshot().Node("a") == nil {
					t.Errorf("want ErrState with %q, got %v", c.problem, err)
				}
				return
			}
			if err != nil || r.Snapshot().Node("a") != nil || len(store.Authors()) != 1 {
				t.Errorf("want it gone here and in the store, got %v", err)
			}
			if err := r.Forget(t.Context(), "a", ops); !errors.Is(err, inventory.ErrNotFound) {
				t.Errorf("want ErrNotFound the second time, got %v", err)
			}
		})
	}
}

// A report that arrives while the node is removed does not bring it back.
func TestForgetCutsFirst(t *testing.T) {
	t.Parallel()
	store := &inventorytest.Store{}
	var r *inventory.Registry
	cut := func(id inventory.NodeID) { r.Apply(id, inventory.Report{}, start.Add(2*time.Minute)) }
	r, err := inventory.NewRegistry(t.Context(), inventory.RegistryConfig{Store: store, Holds: store, Cut: cut}, start)
	if err != nil {
		t.Fatal(err)
	}
	r.Apply("a", inventory.Report{}, start)
	for s := range 120 {
		r.Tick(start.Add(time.Duration(s) * time.Second))
	}
	if err := r.Forget(t.Context(), "a", ops); err != nil {
		t.Fatal(err)
	}
	if n := r.Snapshot().Node("a"); n != nil {
		t.Errorf("it is back: %s", n.State())
	}
}

// A node that is removed and joins again has no version it had before, so no
// old decision holds on it.
func TestVersionsAreNotUsedTwice(t *testing.T) {
	t.Parallel()
	r := open(t, &inventorytest.Store{}, start)
	r.Restore([]inventory.Allocation{{Shard: "m-1.0", Replica: "m-1", Node: "a"}})
	r.Release("m-1")
	old := r.Snapshot().Node("a").Version
	if err := r.Forget(context.Background(), "a", ops); err != nil {
		t.Fatal(err)
	}
	r.Apply("a", inventory.Report{Facts: eightCards()}, start)
	if got := r.Snapshot().Node("a").Version; got <= old {
		t.Errorf("want a version above %d, got %d", old, got)
	}
}
