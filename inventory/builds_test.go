package inventory_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

// TestSetBuild holds a choice to what there is, and to being kept.
func TestSetBuild(t *testing.T) {
	t.Parallel()
	store := &inventorytest.Store{}
	r := open(t, store, start)
	r.Apply("a", inventory.Report{Facts: eightCards()}, start)
	if got := r.Snapshot().Node("a").WantedBuilds(); !maps.Equal(got, map[string]string{"vllm": "auto"}) {
		t.Errorf("before anybody chose: %v", got)
	}
	for _, c := range []struct{ build, chosen string }{{"cu129", "cu129"}, {"cu129", "cu129"}, {"auto", ""}, {"none", ""}} {
		n, err := r.SetBuild(t.Context(), "a", "vllm", c.build, ops)
		if err != nil || n.WantedBuilds()["vllm"] != c.build || n.ChosenBuild("vllm") != c.chosen {
			t.Errorf("%s: got %v, %v", c.build, n, err)
		}
	}
	if got := len(store.Authors()); got != 3 {
		t.Errorf("want 3 writes, none for what is in force, got %d", got)
	}
	for _, c := range []struct{ engine, build, want string }{
		{"vllm", "latest", "cu130, cu129, cpu"}, {"vllm", "", "auto, none"}, {"tgi", "auto", "llamacpp, vllm"},
	} {
		if _, err := r.SetBuild(t.Context(), "a", c.engine, c.build, ops); !errors.Is(err, inventory.ErrBuild) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v", c.engine, c.build, err)
		}
	}
	if _, err := r.SetBuild(t.Context(), "b", "vllm", "auto", ops); !errors.Is(err, inventory.ErrNotFound) {
		t.Errorf("a node that is not known: %v", err)
	}
}

// TestWantsBuilds holds the quick answer to the whole one.
func TestWantsBuilds(t *testing.T) {
	t.Parallel()
	lists := []map[string]string{
		nil,
		{},
		{"vllm": "auto"},
		{"vllm": ""},
		{"vllm": "cu129"},
		{"llamacpp": "cpu"},
		{"llamacpp": "cpu", "vllm": "auto"},
		{"llamacpp": "cpu", "vllm": ""},
		{"llamacpp": "cu129", "vllm": "auto"},
		{"sim": "cpu", "vllm": "auto"},
	}
	for _, f := range []*inventory.Facts{{}, eightCards()} {
		for _, wanted := range lists {
			n := &inventory.Node{Facts: *f, Settings: inventory.NodeSettings{EngineBuilds: wanted}}
			for _, these := range lists {
				if got, want := n.WantsBuilds(these), maps.Equal(n.WantedBuilds(), these); got != want {
					t.Errorf("%d devices, %v was said, of %v: got %t, want %t", len(f.Devices), wanted, these, got, want)
				}
			}
		}
	}
}
