package adminapi_test

import (
	"net/http"
	"strings"
	"testing"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

func TestPlanChange(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.node("a1")
	h.must(t, tiny("tiny"))
	for body, want := range map[string]string{
		`{"model":{"name":"tiny","scale":{"min":3}}}`:                         `"placed":[{"model":"tiny"`,
		`{"model":{"name":"declared","scale":{"min":2}}}`:                     `"unplaceable":[{"model":"declared","short":2,"reasons":["cpu: 1 of 1 nodes: the engine is not installed`, // it is edited in the file
		`{"model":{"name":"tiny","class":"batch"}}`:                           `"placed":[],"moved":[],"preempted":[],"lost":[],"unplaceable":[]`,
		`{"model":{"name":"tiny","resources":{"memory_gb":1,"cpu_cores":0}}}`: `"placed":[]`,
		`{"node":{"id":"a1","state":"cordon"}}`:                               `"placed":[]`,
		`{"node":{"id":"a1","state":"lost"}}`:                                 `"lost":[{"replica":"tiny-1","model":"tiny","nodes":["a1"],"why":"its node is lost and nothing takes over"}],"unplaceable":[{"model":"tiny","short":1,"reasons":["cpu: 1 of 1 nodes: the node takes nothing new`,
		`{"node":{"id":"a1","labels":{"llmgw.io/pool":null}}}`:                `"placed":[]`,
		`{"hold":{"domain":"node:a1"}}`:                                       `"placed":[],"moved":[],"preempted":[],"lost":[],"unplaceable":[]`,
	} {
		w := h.ask(http.MethodPost, "/api/v1/plan-change", body)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: want %s, got %d %s", body, want, w.Code, w.Body)
		}
	}
	// Whoever may read may ask, and nothing is written of it.
	before, err := h.store.ListAudit(t.Context(), storage.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.client(t, storage.RoleViewer).PlanChange(t.Context(), view.PlanRequest{Model: &view.PlanModel{Name: "tiny", Remove: true}}); err != nil {
		t.Errorf("a viewer: %v", err)
	}
	if after, err := h.store.ListAudit(t.Context(), storage.AuditQuery{}); err != nil || len(after) != len(before) {
		t.Errorf("a dry run is in the audit log: %v", err)
	}
	if e, ok := h.models.Index().Get("tiny"); !ok || e.Revision != 1 {
		t.Errorf("a dry run has changed the model: %+v", e)
	}
}

// running makes a replica that runs on a1 as its model is defined now.
func (h *house) running(t *testing.T, model catalog.Name) {
	t.Helper()
	e, _ := h.models.Index().Get(model)
	id := reconciler.ReplicaID(model + "-1")
	spot := inventory.Allocation{Node: "a1", Shard: string(id) + ".0", Replica: string(id), Model: string(model)}
	h.loop.view.Replicas = append(h.loop.view.Replicas, reconciler.Replica{
		ID: id, Model: model, Profile: e.Model.Profiles[0], Source: e.Model.Source, Phase: reconciler.Run,
		Fingerprint: catalog.Fingerprint(&e.Model, &e.Model.Profiles[0]), Shards: []reconciler.Shard{{ID: reconciler.ShardID(spot.Shard), Spot: spot}},
	})
}

// Nothing moves because a definition is edited, so a reader is told who would.
func TestPlanChangeTellsWhatStaysAsItWas(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.node("a1")
	h.must(t, tiny("tiny"))
	h.running(t, "tiny")
	const note = `"notes":["1 replica runs as it was defined before; ctl restart --rollout --model tiny replaces it."]`
	for body, told := range map[string]bool{
		`{"model":{"name":"tiny","resources":{"memory_gb":3,"cpu_cores":0}}}`: true,
		`{"model":{"name":"tiny","class":"batch"}}`:                           false,
		`{"model":{"name":"tiny","remove":true}}`:                             false,
	} {
		w := h.ask(http.MethodPost, "/api/v1/plan-change", body)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), note) != told {
			t.Errorf("%s: want the note: %v, got %d %s", body, told, w.Code, w.Body)
		}
	}
}

// What makes no sense is refused by name, as the change itself would be.
func TestPlanChangeRefuses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.node("a1")
	h.must(t, tiny("tiny"))
	for body, want := range map[string]struct {
		status int
		says   string
	}{
		`{}`: {400, "the change must have exactly one of model, node or hold, and has none"},
		`{"model":{"name":"tiny","remove":true},"node":{"id":"a1","state":"lost"}}`: {400, "and has model and node"},
		`{"model":{"name":"tiny"}}`:                                                         {400, "exactly one of definition, scale, class, resources or remove, and has none"},
		`{"model":{"name":"tiny","remove":true,"class":"batch"}}`:                           {400, "and has class and remove"},
		`{"model":{"name":"tiny","scale":{"min":-1}}}`:                                      {400, "min is below zero"},
		`{"model":{"name":"nobody","scale":{"min":1}}}`:                                     {404, "there is no model"},
		`{"model":{"name":"nobody","class":"batch"}}`:                                       {404, "list the models to see their names"},
		`{"model":{"name":"tiny","class":"golden"}}`:                                        {400, "critical, standard, batch"},
		`{"model":{"name":"tiny","resources":{"profile":"x","memory_gb":1,"cpu_cores":1}}}`: {400, "has no profile"},
		`{"model":{"name":"new","definition":{"name":"new"}}}`:                              {400, "at least one profile"},
		`{"model":{"name":"new","definition":{"name":"other"}}}`:                            {400, "give both one name"},
		`{"model":{"name":"new","definition":{"name":"new","nope":1}}}`:                     {400, `nope`},
		`{"node":{"id":"a1"}}`:                                                              {400, "exactly one of state or labels, and has none"},
		`{"node":{"id":"nobody","state":"lost"}}`:                                           {404, `there is no node \"nobody\"; GET /api/v1/nodes, or ctl nodes list, lists them`},
		`{"node":{"id":"a1","state":"asleep"}}`:                                             {400, "ready, cordoned, draining, lost, removed"},
		`{"node":{"id":"a1","labels":{"a b":"c"}}}`:                                         {400, "cannot be the name of a label"},
		`{"hold":{"domain":"shelf:1"}}`:                                                     {400, "names no domain"},
		`{"hold":{"domain":"rack:r1","until":"2020-01-01T00:00:00Z"}}`:                      {400, "is past"},
		`{"hold":{"domain":"rack:r1","release":true}}`:                                      {404, `rack \"r1\" is not held; GET /api/v1/facility, or ctl holds list, lists what is`},
		`{"hold":{"domain":"rack:r1","release":true,"from":"2020-01-01T00:00:00Z"}}`:        {400, "leave those out"},
	} {
		w := h.ask(http.MethodPost, "/api/v1/plan-change", body)
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.says) {
			t.Errorf("%s: want %d with %q, got %d %s", body, want.status, want.says, w.Code, w.Body)
		}
	}
}
