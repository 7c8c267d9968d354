package adminapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// collector is fakeAgents with an agent that removes what it is told to, but for
// the folder "busy".
type collector struct {
	*fakeAgents
	asked []string
}

func (f *collector) Collect(_ context.Context, node string, paths []string) (inventory.Collected, error) {
	var out inventory.Collected
	if node == "away" {
		return out, errors.New("the agent of away is not there")
	}
	for _, p := range paths {
		f.asked = append(f.asked, node+":"+p)
		if p == "busy" {
			out.Kept = append(out.Kept, inventory.KeptWeights{Path: p, Why: "process 7 (llama-server) has it open"})
			continue
		}
		out.Removed = append(out.Removed, inventory.RemovedWeights{Path: p, Bytes: 10})
	}
	return out, nil
}

// holding makes a node known that has weights for nothing, and for a model.
func (h *house) holding(id inventory.NodeID, folders ...string) {
	at := time.Now()
	facts := inventory.Facts{Hostname: string(id), Weights: []inventory.Weight{{Path: "mine.gguf", Bytes: 3}, {Path: "tiny/w.gguf", Bytes: 5, Source: "https://h/tiny.gguf"}}}
	for _, f := range folders {
		facts.Weights = append(facts.Weights, inventory.Weight{Path: f + "/w.gguf", Bytes: 10, Source: "https://h/" + f + ".gguf", LastUsed: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)})
	}
	h.registry.Apply(id, inventory.Report{Facts: &facts, Whole: true, At: at}, at)
}

func TestCollectWeights(t *testing.T) {
	t.Parallel()
	agents := &collector{fakeAgents: &fakeAgents{}}
	h := newHouse(t, func(c *adminapi.Config) { c.NodeCalls = agents })
	m := tiny("tiny")
	m.Source = "https://h/tiny.gguf"
	h.must(t, m)
	h.holding("a1", "busy", "old")
	h.holding("away", "old")
	c := h.client(t, storage.RoleOperator)
	list, _, err := c.Orphans(t.Context(), "", adminclient.List{})
	if err != nil || len(list) != 3 || list[0].Path != "busy" || list[1].Source != "https://h/old.gguf" || list[2].Node != "away" || list[1].LastUsed == nil {
		t.Fatalf("got %+v, %v", list, err)
	}
	if own, _, err := c.Orphans(t.Context(), "away", adminclient.List{}); err != nil || len(own) != 1 {
		t.Errorf("of one node: %+v, %v", own, err)
	}
	_, _, err = c.Orphans(t.Context(), "zz", adminclient.List{})
	wantRefusal(t, err, http.StatusNotFound, "not_found", "zz")
	_, err = c.CollectWeights(t.Context(), view.CollectRequest{})
	wantRefusal(t, err, http.StatusBadRequest, "invalid", "names nothing")

	var in view.CollectRequest
	for _, o := range list {
		in.Orphans = append(in.Orphans, view.OrphanRef{Node: o.Node, Path: o.Path})
	}
	// What no listing names, and what a model needs, is not even asked for.
	in.Orphans = append(in.Orphans, in.Orphans[0], view.OrphanRef{Node: "a1", Path: "tiny"}, view.OrphanRef{Node: "a1", Path: "../etc"}, view.OrphanRef{Node: "a1", Path: "mine.gguf"})
	got, err := c.CollectWeights(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]view.RemovedWeights{{Node: "a1", Path: "old", Bytes: 10}}, got.Removed); d != "" || got.FreedBytes != 10 {
		t.Errorf("%d bytes (-want +got):\n%s", got.FreedBytes, d)
	}
	why := map[string]string{}
	for _, k := range got.Kept {
		why[k.Node+":"+k.Path] += k.Why
	}
	for place, says := range map[string]string{"a1:busy": "has it open", "a1:tiny": "no orphan", "a1:../etc": "no orphan", "a1:mine.gguf": "no orphan", "away:old": "not there"} {
		if !strings.Contains(why[place], says) {
			t.Errorf("%s was kept because %q, want %q", place, why[place], says)
		}
	}
	if d := cmp.Diff([]string{"a1:busy", "a1:old"}, agents.asked); d != "" {
		t.Errorf("the agents were told (-want +got):\n%s", d)
	}
	events, err := h.store.ListAudit(t.Context(), storage.AuditQuery{})
	if err != nil || len(events) == 0 || events[0].Action != "weights.collect" || !strings.Contains(events[0].After, `"old"`) {
		t.Errorf("the audit log has %+v, %v", events, err)
	}
	_, err = h.client(t, storage.RoleViewer).CollectWeights(t.Context(), in)
	wantRefusal(t, err, http.StatusForbidden, "forbidden", "")
}

// Without agents that can remove anything the route says so.
func TestCollectNeedsAgents(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *adminapi.Config) { c.NodeCalls = struct{ adminapi.NodeCalls }{&fakeAgents{}} })
	_, err := h.client(t, storage.RoleOwner).CollectWeights(t.Context(), view.CollectRequest{Orphans: []view.OrphanRef{{Node: "a", Path: "b"}}})
	wantRefusal(t, err, http.StatusNotImplemented, "not_wired", "told to remove weights")
}
