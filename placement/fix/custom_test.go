package fix_test

import (
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/fix"
)

// What an embedder's filter refuses is not mended, and counts for what is found.
func TestFixAsksOwnFilters(t *testing.T) {
	t.Parallel()
	fleet, err := inventorytest.Parse("a1 gpu=8xH100-80 cordoned\na2 gpu=8xH100-80 engines=none\na3 gpu=8xH100-80")
	if err != nil {
		t.Fatal(err)
	}
	m := &catalog.Model{Name: "m", Profiles: []catalog.Profile{{Name: "tp4", Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Count: 4}}}}
	find := func(refused ...inventory.NodeID) (fix.Fix, string) {
		x := placement.NewIndex(placement.Placer{Filters: []placement.Filter{{Name: "lease", Refuse: func(n *inventory.Node, _ *catalog.Model, _ *catalog.Profile) string {
			for _, id := range refused {
				if n.ID == id {
					return "its lease has ended"
				}
			}
			return ""
		}}}})
		x.Advance(fleet)
		f, why, _ := fix.Find(x, fix.Question{Request: placement.Request{Model: m}})
		return f, why
	}
	if f, _ := find("a1", "a3"); !strings.HasPrefix(f.Text, "Install vllm on node a2") {
		t.Errorf("want the node that the filter lets pass, got %q", f.Text)
	}
	if f, why := find("a1", "a2", "a3"); f.Text != "" || !strings.Contains(why, "No small change") {
		t.Errorf("want none, got %q %q", f.Text, why)
	}
	fleet, err = inventorytest.Parse("a3 gpu=8xH100-80")
	if err != nil {
		t.Fatal(err)
	}
	if _, why := find("a3"); !strings.Contains(why, "of 1 node 1 say: the filter lease refused it") {
		t.Errorf("want the filter named, got %q", why)
	}
}
