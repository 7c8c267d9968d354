package view_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/dryrun"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestViewsAreGolden(t *testing.T) {
	t.Parallel()
	w := world()
	owner := world()
	owner.EngineKey = func(replica string) string { return "key-of-" + replica }
	entry := func(name catalog.Name) *catalog.Entry {
		e, ok := w.View.Catalog.Get(name)
		if !ok {
			t.Fatalf("no model %s", name)
		}
		return e
	}
	for name, v := range map[string]any{
		"nodes":          view.NodesOf(w),
		"models":         view.ModelsOf(w),
		"replicas":       view.ReplicasOf(w, ""),
		"replicas_owner": view.ReplicasOf(owner, "big"),
		"definition":     view.DefinitionOf(entry("near")),
		"explain":        view.ExplainOf(w, entry("tiny"), reconciler.Help{Why: "No small change makes room. As cpu: there is no node; join one first."}),
		"explain_fix":    view.ExplainOf(w, entry("tiny"), help()),
		"explain_placed": view.ExplainOf(w, entry("big"), reconciler.Help{}),
		"headroom":       view.HeadroomOf(w, entry("big"), headroom()),
		"change_plan":    view.ChangePlanOf(report()),
		"target":         []view.Target{view.TargetOf(w, entry("big")), view.TargetOf(w, entry("tiny"))},
		"scale":          []view.ScaleResponse{view.ScaleOf(entry("big")), view.ScaleOf(entry("tiny"))},
		"summary":        view.SummaryOf(w, view.Process{Version: "v1", Started: now.Add(-time.Hour), Leader: "c1", StoreKind: "sqlite"}),
		"facility":       view.FacilityOf(heldWorld()),
		"fabrics":        view.FabricsOf(ptr(networks(w))),
		"topology":       topologies(w),
		"nvlink":         view.NVLinkOf(w),
		"hold_plan":      view.HoldPlanOf(reconciler.Reconciler{}.PlanHold(w.View, rackHold(), now, nil)),
		"summary_brake":  view.SummaryOf(heldWorld(), view.Process{Version: "v1", Started: now.Add(-time.Hour)}),
		"request":        view.RequestOf(record()),
		"request_choice": view.ExplainRequest("req_1", []view.Choice{aChoice()}),
		"usage":          view.UsageOf([]storage.UsageSum{{Scope: storage.ByTeam, ID: "default", Name: "Default", Keys: 2, Requests: 10, Errors: 1, LastAt: now}, {Scope: storage.ByTeam, ID: "idle"}}),
		"audit":          view.AuditOf(events()),
		"credentials": []any{
			view.KeyOf(storage.Key{ID: "abcdefghij", Name: "ci", Project: "default", Hash: "SECRET", CreatedAt: now, CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}),
			view.AdminTokenOf(storage.AdminToken{ID: "abcdefghij", Name: "ops", Role: storage.RoleOwner, Hash: "SECRET", CreatedBy: "system:dev", CreatedAt: now}),
			view.JoinTokenOf(inventory.JoinToken{ID: "abcdefghij", Hash: "SECRET", CreatedBy: "token:ops", CreatedAt: now, ExpiresAt: now.Add(time.Hour), UsedBy: "a1", UsedAt: now}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			if bytes.Contains(got, []byte("SECRET")) {
				t.Errorf("a secret is shown: %s", got)
			}
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the wire has changed; run the test with -update when that is wanted:\n%s", diff)
			}
		})
	}
}

func rackHold() inventory.Hold {
	return inventory.Hold{
		Domain: inventory.Domain{Level: inventory.LevelRack, Name: "r12-07"}, Reason: "PDU swap", By: "token:ops",
		Since: now.Add(-time.Hour), From: now.Add(-time.Minute), Until: now.Add(time.Hour),
	}
}

// heldWorld is the world with planned work under way, another that is to come,
// and the brake set.
func heldWorld() view.World {
	w := world()
	v := *w.View
	next := inventory.Hold{Domain: inventory.Domain{Level: inventory.LevelSite, Name: "south"}, By: "token:ops", Since: now, From: now.Add(time.Hour)}
	v.Fleet = v.Fleet.WithHolds([]inventory.Hold{rackHold(), next}, now)
	v.Brake = reconciler.Brake{Since: now.Add(-time.Minute), Reason: "60 of 200 nodes went silent within a minute"}
	w.View = &v
	return w
}

// help is what would make room for a model on one node that is cordoned and has
// another one on its memory.
func help() reconciler.Help {
	models := []catalog.Entry{
		{Model: catalog.Model{Name: "new", Profiles: []catalog.Profile{{Name: "cpu", Engine: "sim", MemoryGB: 40}}}},
		{Model: catalog.Model{Name: "old", Class: catalog.ClassBatch, Profiles: []catalog.Profile{{Name: "cpu", Engine: "sim", MemoryGB: 40}}}},
	}
	a := inventory.Allocation{Shard: "old-1.0", Replica: "old-1", Model: "old", Node: "c1", MemoryMB: 40 << 10}
	c1 := &inventory.Node{
		ID: "c1", Hearing: inventory.Heard, Facts: inventory.Facts{MemoryMB: 64 << 10},
		Settings: inventory.NodeSettings{Wish: inventory.WishCordoned}, Allocations: []inventory.Allocation{a},
	}
	h, err := reconciler.Reconciler{}.Help(&reconciler.View{
		At: now, Catalog: catalog.NewIndex(1, models), Fleet: inventory.NewSnapshot(1, []*inventory.Node{c1}),
		Replicas: []reconciler.Replica{{ID: "old-1", Model: "old", Phase: reconciler.Run, CreatedAt: now.Add(-time.Hour), Shards: []reconciler.Shard{{ID: "old-1.0", Spot: a}}}},
	}, "new", nil)
	if err != nil {
		panic(err)
	}
	return h
}

func report() dryrun.Report {
	chat := dryrun.Placed{Model: "chat", Profile: "tp4", Nodes: []inventory.NodeID{"a1", "a2"}}
	return dryrun.Report{
		Placed:    []dryrun.Placed{chat},
		Moved:     []dryrun.Moved{{Replica: "chat-1", From: []inventory.NodeID{"a3"}, To: chat}},
		Preempted: []dryrun.Preempted{{Replica: "sort-2", Model: "sort", From: []inventory.NodeID{"a1"}, By: "chat"}},
		Outdated:  []dryrun.Outdated{{Replica: "chat-4", Model: "chat"}, {Replica: "chat-5", Model: "chat"}},
		Lost:      []dryrun.Lost{{Replica: "sort-3", Model: "sort", Nodes: []inventory.NodeID{"a4"}, Why: "node a4 was removed"}},
		Unplaceable: []dryrun.Unplaceable{{Model: "sort", Short: 2, Trace: placement.Trace{Profiles: []placement.ProfileTrace{{
			Profile: "tp4", Looked: 5, Counts: map[placement.Reason]int{placement.Held: 2, placement.DevicesBusy: 3},
		}}}}},
		Unsettled: true, Brake: reconciler.Brake{Since: now, Reason: "60 of 200 nodes went silent within a minute"},
	}
}

func headroom() reconciler.Headroom {
	return reconciler.Headroom{Help: help(), Headroom: placement.Headroom{
		Spots: []placement.Candidate{{Profile: "tp1", Spots: []placement.Spot{{Node: "a1"}, {Node: "a2"}}}, {Profile: "tp1", Spots: []placement.Spot{{Node: "a3"}}}},
		Blocked: placement.Trace{Profiles: []placement.ProfileTrace{{
			Profile: "tp1", Lines: []placement.Rejection{{Node: "a1", Reason: placement.DevicesBusy, Text: "needs 1 of H100-80, 0 free"}}, Omitted: 12,
		}}},
	}, Preempting: []placement.Preemption{{Victims: []placement.Occupant{{Model: "sort"}, {Model: "chat"}}}, {Victims: []placement.Occupant{{Model: "sort"}}}}}
}

func record() storage.Request {
	return storage.Request{
		ID: "r1", At: now.In(time.FixedZone("east", 3600)), KeyID: "k", ProjectID: "default", Model: "small", ServedModel: "tiny", Replica: "tiny-2", Endpoint: "chat",
		Status: 200, Outcome: storage.OutcomeOK, Latency: 1234567 * time.Microsecond, Queued: 20 * time.Millisecond, FirstByte: 300 * time.Millisecond,
		PromptTokens: 10, CompletionTokens: 20, CostMicros: 7, Attempts: []storage.Attempt{{Replica: "tiny-1", Status: 503}, {Replica: "tiny-2", Status: 200}}, Tags: map[string]string{"run": "1"},
	}
}

func events() []storage.AuditEvent {
	return []storage.AuditEvent{
		{Seq: 2, At: now, Principal: "token:ops", Claimed: "ann", Action: "models.scale", Object: "model:tiny", Before: `{"min":1}`, After: `{"min":2}`, RequestID: "R", Reason: "load", Hash: "bb"},
		{Seq: 1, At: now, Principal: "config", Action: "models.put", Object: "model:tiny", After: "not JSON", Hash: "aa"},
	}
}
