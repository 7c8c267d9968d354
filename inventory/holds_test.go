package inventory_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

func rack(name string) inventory.Domain {
	return inventory.Domain{Level: inventory.LevelRack, Name: name}
}

// What another process holds is learned, and what has ended is dropped by
// whoever comes first, by themselves.
func TestHoldsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &inventorytest.Store{}
		one, two := open(t, store, time.Now()), open(t, store, time.Now())
		for _, r := range []*inventory.Registry{one, two} {
			done := make(chan error)
			go func() { done <- r.Run(t.Context()) }()
			t.Cleanup(func() { <-done })
		}
		facts := inventory.Facts{Labels: map[string]string{"llmgw.io/rack": "r1"}}
		two.Apply("a", inventory.Report{Facts: &facts}, time.Now())
		until := time.Now().Add(3 * time.Minute)
		if _, err := one.Hold(t.Context(), inventory.Hold{Domain: rack("r1"), Until: until}, time.Now(), ops); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if h := two.Snapshot().Node("a").Held; h.Domain != rack("r1") {
			t.Errorf("want the other to know after a minute, got %+v", h)
		}
		time.Sleep(3 * time.Minute)
		left, err := store.ListHolds(t.Context())
		if err != nil || len(left) != 0 || len(one.Snapshot().Holds()) != 0 || len(two.Snapshot().Holds()) != 0 || two.Snapshot().Node("a").Held.Yes() {
			t.Errorf("want it gone everywhere, got %v, %v", left, err)
		}
		if by := store.Authors(); len(by) != 2 || by[1].Action != "holds.end" {
			t.Errorf("want one write that drops it, got %+v", by)
		}
	})
}

// What was not kept is not in force.
func TestHoldWhenTheStoreIsAway(t *testing.T) {
	t.Parallel()
	away := errors.New("store is away")
	fail := false
	store := &inventorytest.Store{Fail: func(string) error {
		if fail {
			return away
		}
		return nil
	}}
	r := open(t, store, start)
	if _, err := r.Hold(t.Context(), inventory.Hold{Domain: rack("r1")}, start, ops); err != nil {
		t.Fatal(err)
	}
	fail = true
	if _, err := r.Hold(t.Context(), inventory.Hold{Domain: rack("r2")}, start, ops); !errors.Is(err, away) {
		t.Errorf("want the store's error, got %v", err)
	}
	if err := r.ReleaseHold(t.Context(), rack("r1"), start, ops); !errors.Is(err, away) {
		t.Errorf("want the store's error, got %v", err)
	}
	if err := r.SweepHolds(t.Context(), start.Add(time.Hour)); !errors.Is(err, away) {
		t.Errorf("want the store's error, got %v", err)
	}
	if holds := r.Snapshot().Holds(); len(holds) != 1 || holds[0].Domain != rack("r1") || holds[0].By != "token:ops" {
		t.Errorf("want the one that was kept, got %+v", holds)
	}
}

func TestHoldsNeedAStore(t *testing.T) {
	t.Parallel()
	r, err := inventory.NewRegistry(t.Context(), inventory.RegistryConfig{Store: &inventorytest.Store{}}, start)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Hold(t.Context(), inventory.Hold{Domain: rack("r1")}, start, ops)
	if !errors.Is(err, inventory.ErrState) || !strings.Contains(err.Error(), "survive a restart") {
		t.Errorf("want to be told why, got %v", err)
	}
}

func TestLabelsHaveBounds(t *testing.T) {
	t.Parallel()
	r := open(t, &inventorytest.Store{}, start)
	r.Apply("a", inventory.Report{}, start)
	text := func(s string) *string { return &s }
	for says, change := range map[string]map[string]*string{
		"cannot be the name":    {"a b": text("")},
		"name of a label: want": {strings.Repeat("k", 200): text("")},
		"one line":              {"k": text("a\nb")},
		"at most 256 bytes":     {"k": text(strings.Repeat("v", 300))},
		"64 are allowed":        many(65),
	} {
		if _, err := r.SetLabels(t.Context(), "a", change, ops); !errors.Is(err, inventory.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("want ErrInvalid that says %q, got %v", says, err)
		}
	}
	if n, err := r.SetLabels(t.Context(), "a", many(64), ops); err != nil || len(n.Settings.Labels) != 64 {
		t.Errorf("want 64 labels, got %v", err)
	}
	if n, err := r.SetLabels(t.Context(), "a", map[string]*string{"aa": nil, "ab": text("x")}, ops); err != nil || len(n.Settings.Labels) != 63 || n.Label("ab") != "x" {
		t.Errorf("want one removed and one changed, got %+v, %v", n, err)
	}
}

func many(n int) map[string]*string {
	out := map[string]*string{}
	for i := range n {
		v := ""
		out[string([]byte{'a' + byte(i/26), 'a' + byte(i%26)})] = &v
	}
	return out
}
