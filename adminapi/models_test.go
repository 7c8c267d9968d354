package adminapi_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

func TestNamesWithSlashesOnEveryMux(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, name := range []catalog.Name{"org/name:tag", "plain", "a.b-c_d"} {
		h.must(t, tiny(name))
	}
	under := chi.NewRouter()
	h.api.Mount(under)
	deeper := chi.NewRouter()
	deeper.Route("/llmgw", func(r chi.Router) { h.api.Mount(r) })
	std := http.NewServeMux()
	std.Handle("/api/v1/", h.api)
	stripped := http.NewServeMux()
	stripped.Handle("/llmgw/", http.StripPrefix("/llmgw", h.api))
	muxes := []struct {
		name, prefix string
		mux          http.Handler
	}{
		{"itself", "", h.api}, {"chi", "", under}, {"chi under a path", "/llmgw", deeper}, {"ServeMux", "", std}, {"ServeMux under a path", "/llmgw", stripped},
	}
	paths := []struct {
		path string
		want string // empty: not found
	}{
		{"org%2Fname%3Atag", "org/name:tag"},
		{"org%2Fname:tag", "org/name:tag"},
		{"org%2fname:tag", "org/name:tag"},
		{"plain", "plain"},
		{"%70lain", "plain"},
		{"a.b-c_d", "a.b-c_d"},
		{"org%252Fname%3Atag", ""},
		{"org%2Fname%253Atag", ""},
		{"..%2f..%2fetc", ""},
	}
	for _, m := range muxes {
		for _, p := range paths {
			get := h.askAs(m.mux, http.MethodGet, m.prefix+"/api/v1/models/"+p.path, "")
			scale := h.askAs(m.mux, http.MethodPost, m.prefix+"/api/v1/models/"+p.path+"/scale", `{"min":1}`)
			if p.want == "" {
				if get.Code != http.StatusNotFound || scale.Code != http.StatusNotFound {
					t.Errorf("%s, %s: want 404, got %d and %d", m.name, p.path, get.Code, scale.Code)
				}
				continue
			}
			var got view.Model
			var scaled view.ScaleResponse
			if err := json.Unmarshal(get.Body.Bytes(), &got); err != nil || string(got.Name) != p.want {
				t.Errorf("%s, %s: want %s, got %d %s", m.name, p.path, p.want, get.Code, get.Body)
			}
			if err := json.Unmarshal(scale.Body.Bytes(), &scaled); err != nil || scaled.Model != p.want {
				t.Errorf("%s, %s/scale: want %s, got %d %s", m.name, p.path, p.want, scale.Code, scale.Body)
			}
		}
	}
	if w := h.askAs(under, http.MethodGet, "/healthz", ""); w.Code != http.StatusNotFound {
		t.Errorf("the probes are the other program's own, got %d", w.Code)
	}
}

func TestModelsOverTheClient(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c, ctx := h.client(t, storage.RoleOperator), t.Context()
	m := tiny("org/tiny")
	m.Aliases = []catalog.Name{"small"}
	added, err := c.AddModel(ctx, m)
	if err != nil || added.Added != "org/tiny" {
		t.Fatalf("want it added, got %+v, %v", added, err)
	}
	_, err = c.AddModel(ctx, m)
	wantRefusal(t, err, 409, "exists", "org/tiny")
	got, revision, err := c.Model(ctx, "org/tiny")
	if err != nil || got.Class != catalog.ClassStandard || got.Scaling == nil || revision == "" {
		t.Fatalf("want defaults filled in and a revision, got %+v %q, %v", got, revision, err)
	}
	_, _, err = c.Model(ctx, "small")
	wantRefusal(t, err, 404, "not_found", "org/tiny")
	_, _, err = c.Model(ctx, "none")
	wantRefusal(t, err, 404, "not_found", `"none"`)

	got.Description = "changed"
	got, err = c.PutModel(ctx, "org/tiny", got, revision)
	if err != nil || got.Description != "changed" {
		t.Fatalf("want the change, got %+v, %v", got, err)
	}
	_, err = c.PutModel(ctx, "org/tiny", got, revision)
	wantRefusal(t, err, 412, "stale", "org/tiny")
	_, err = c.PutModel(ctx, "other", got, "")
	wantRefusal(t, err, 400, "invalid", "renamed")
	_, err = c.PutModel(ctx, "declared", json.RawMessage(`{"name":"declared"}`), "")
	wantRefusal(t, err, 409, "read_only", "configuration file")

	class, err := c.SetClass(ctx, "org/tiny", "batch")
	if err != nil || class.Class != "batch" {
		t.Errorf("want the class, got %+v, %v", class, err)
	}
	_, err = c.SetClass(ctx, "org/tiny", "gold")
	wantRefusal(t, err, 400, "invalid", "critical, standard, batch")
	got, err = c.SetResources(ctx, "org/tiny", view.ResourcesRequest{MemoryGB: 8, CPUCores: 3})
	if err != nil || got.Profiles[0].MemoryGB != 8 || got.Profiles[0].CPUCores != 3 {
		t.Errorf("want the reservation, got %+v, %v", got.Profiles, err)
	}
	_, err = c.SetResources(ctx, "org/tiny", view.ResourcesRequest{Profile: "nope", MemoryGB: 8})
	wantRefusal(t, err, 400, "invalid", "nope")
	removed, err := c.RemoveModel(ctx, "org/tiny")
	if err != nil || removed.Removed != "org/tiny" {
		t.Errorf("want it removed, got %+v, %v", removed, err)
	}
	_, err = c.RemoveModel(ctx, "declared")
	wantRefusal(t, err, 409, "read_only", "configuration file")
}

func TestScale(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(t, tiny("tiny"))
	m := tiny("shifts")
	two := 2
	m.Scaling = &catalog.Scaling{Min: 1, Max: &two, Schedule: []catalog.Window{{From: "08:00", Until: "18:00", Min: 2}}}
	h.must(t, m)
	cases := []struct {
		name, model, body string
		status            int
		want              string
	}{
		{"max follows min", "tiny", `{"min":3}`, 200, `{"model":"tiny","min":3,"max":3,"on_demand":false}`},
		{"on demand, idle as text", "tiny", `{"min":0,"max":2,"idle_timeout":"10m"}`, 200, `{"model":"tiny","min":0,"max":2,"idle_timeout":600000000000,"on_demand":true}`},
		{"the idle timeout stays", "tiny", `{"min":0,"max":1}`, 200, `{"model":"tiny","min":0,"max":1,"idle_timeout":600000000000,"on_demand":true}`},
		{"idle in nanoseconds", "tiny", `{"min":0,"max":1,"idle_timeout":1000000000}`, 200, `{"model":"tiny","min":0,"max":1,"idle_timeout":1000000000,"on_demand":true}`},
		{"none at all", "tiny", `{"min":0,"max":0}`, 200, `{"model":"tiny","min":0,"max":0,"idle_timeout":1000000000,"on_demand":false}`},
		{"negative", "tiny", `{"min":-1,"max":-2,"idle_timeout":-1}`, 400, "min is below zero; max is below min; leave max out to follow min; idle_timeout is below zero"},
		{"max below min", "tiny", `{"min":3,"max":2}`, 400, "max is below min"},
		{"without min", "tiny", `{"max":2}`, 400, `\"min\" is missing`},
		{"not a duration", "tiny", `{"min":1,"idle_timeout":"soon"}`, 400, "not a duration"},
		{"with a schedule", "shifts", `{"min":2,"max":4}`, 200, `{"model":"shifts","min":2,"max":4,"on_demand":false}`},
		{"unknown", "nobody", `{"min":1}`, 404, "nobody"},
		{"declared", "declared", `{"min":1}`, 409, "read_only"},
	}
	for _, c := range cases {
		w := h.ask(http.MethodPost, "/api/v1/models/"+c.model+"/scale", c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: want %d %s, got %d %s", c.name, c.status, c.want, w.Code, w.Body)
		}
	}
	if e, _ := h.models.Index().Get("shifts"); len(e.Model.Scaling.Schedule) != 1 {
		t.Errorf("scaling by hand must leave the schedule alone, got %+v", e.Model.Scaling)
	}
}

func TestChangesAreGuardedByIfMatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(t, tiny("tiny"))
	at := "/api/v1/models/tiny"
	tag := h.ask(http.MethodGet, at, "").Header().Get("ETag")
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPost, at + "/scale", `{"min":2}`},
		{http.MethodPost, at + "/class", `{"class":"batch"}`},
		{http.MethodPost, at + "/resources", `{"memory_gb":4,"cpu_cores":1}`},
		{http.MethodPut, at, `{"name":"tiny"}`},
		{http.MethodDelete, at, ""},
	} {
		for _, stale := range []string{`"999999"`, "W/" + tag, "nonsense"} {
			w := h.ask(c.method, c.path, c.body, "If-Match", stale)
			if w.Code != http.StatusPreconditionFailed || refusalOf(t, w).Code != "stale" {
				t.Errorf("%s %s with %s: want 412, got %d %s", c.method, c.path, stale, w.Code, w.Body)
			}
		}
	}
	w := h.ask(http.MethodPost, at+"/scale", `{"min":2}`, "If-Match", tag)
	next := w.Header().Get("ETag")
	if w.Code != http.StatusOK || next == tag || next == "" {
		t.Errorf("want the change and a new tag, got %d %s %s", w.Code, next, w.Body)
	}
	if w := h.ask(http.MethodPost, at+"/scale", `{"min":3}`, "If-Match", "*"); w.Code != http.StatusOK {
		t.Errorf("* takes any revision, got %d %s", w.Code, w.Body)
	}
}

func TestDefinitionsAreRefusedWithEveryReason(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(t, tiny("taken"))
	w := h.ask(http.MethodPost, "/api/v1/models", `{"name":"bad name","class":"gold","profiles":[{"name":"p","engine":"nope"}],"fallbacks":["missing"]}`)
	if w.Code != http.StatusBadRequest || refusalOf(t, w).Code != "invalid" {
		t.Fatalf("want 400, got %d %s", w.Code, w.Body)
	}
	for _, field := range []string{"name", "class", "engine", "fallbacks"} {
		if !strings.Contains(w.Body.String(), field) {
			t.Errorf("want a complaint about %s among all, got %s", field, w.Body)
		}
	}
	m := tiny("other")
	m.Aliases = []catalog.Name{"TAKEN"}
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	w = h.ask(http.MethodPost, "/api/v1/models", string(body))
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "taken") {
		t.Errorf("a name of others is a conflict: want 409, got %d %s", w.Code, w.Body)
	}
	m = tiny("leans")
	m.Fallbacks = []catalog.Name{"taken"}
	h.must(t, m)
	w = h.ask(http.MethodDelete, "/api/v1/models/taken", "")
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "leans") {
		t.Errorf("want 409 that names who leans on it, got %d %s", w.Code, w.Body)
	}
}

func TestQuestionsTakeAliases(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := tiny("tiny")
	m.Aliases = []catalog.Name{"small"}
	h.must(t, m)
	h.loop.view.Health = map[catalog.Name]reconciler.ModelHealth{"tiny": {Desired: 2, Why: reconciler.WhyDemand, Parked: true}}
	h.loop.retry = func(n catalog.Name) (bool, error) { return n == "tiny", nil }
	for path, want := range map[string]string{
		"GET /api/v1/explain-placement?model=small": `{"model":"tiny","placed":false}`,
		"GET /api/v1/models/small/headroom":         `{"model":"tiny","current":0,"more":0}`,
		"GET /api/v1/models/small/target":           `{"model":"tiny","desired":2,"why":"demand","signals":{"queued":0,"running":0},"clamps":[]}`,
		"POST /api/v1/models/small/retry":           `{"was_parked":true}`,
	} {
		method, target, _ := strings.Cut(path, " ")
		if w := h.ask(method, target, ""); w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: want %s, got %d %s", path, want, w.Code, w.Body)
		}
		if w := h.ask(method, strings.Replace(target, "small", "nobody", 1), ""); w.Code != http.StatusNotFound {
			t.Errorf("%s of nobody: want 404, got %d %s", path, w.Code, w.Body)
		}
	}
	if w := h.ask(http.MethodGet, "/api/v1/explain-placement", ""); w.Code != http.StatusBadRequest {
		t.Errorf("without a model: want 400, got %d %s", w.Code, w.Body)
	}
}

// What would help is looked for where the last attempt found no room, and only
// there.
func TestExplainAsksForHelp(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(t, tiny("tiny"))
	h.must(t, tiny("full"))
	h.loop.help = func(m catalog.Name) (reconciler.Help, error) {
		return reconciler.Help{Why: "asked for " + string(m)}, nil
	}
	h.loop.view.Traces = map[catalog.Name]placement.Trace{
		"tiny": {Profiles: []placement.ProfileTrace{{Profile: "cpu", Looked: 1, Chosen: 1}}},
		"full": {Profiles: []placement.ProfileTrace{{Profile: "cpu", Looked: 1, Counts: map[placement.Reason]int{placement.Held: 1}}}},
	}
	for model, want := range map[string]bool{"tiny": false, "full": true} {
		w := h.ask(http.MethodGet, "/api/v1/explain-placement?model="+model, "")
		if got := strings.Contains(w.Body.String(), `"no_fix":"asked for `+model+`"`); w.Code != http.StatusOK || got != want {
			t.Errorf("%s: want help asked for: %t, got %d %s", model, want, w.Code, w.Body)
		}
	}
}

func TestHeadroomLimits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(t, tiny("tiny"))
	for _, q := range []string{"", "?limit=", "?limit=0", "?limit=-3", "?limit=5", "?limit=64", "?limit=1000"} {
		if w := h.ask(http.MethodGet, "/api/v1/models/tiny/headroom"+q, ""); w.Code != http.StatusOK {
			t.Errorf("%s: got %d %s", q, w.Code, w.Body)
		}
	}
	want := []int{16, 16, 16, 16, 5, 64, 64}
	for i, n := range h.loop.limits {
		if n != want[i] {
			t.Errorf("trial %d: want %d, got %d", i, want[i], n)
		}
	}
	if w := h.ask(http.MethodGet, "/api/v1/models/tiny/headroom?limit=many", ""); w.Code != http.StatusBadRequest {
		t.Errorf("not a number: want 400, got %d %s", w.Code, w.Body)
	}
	h.loop.headroom = func(catalog.Name, int) (reconciler.Headroom, error) {
		return reconciler.Headroom{}, errors.Join(reconciler.ErrNoModel)
	}
	if w := h.ask(http.MethodGet, "/api/v1/models/tiny/headroom", ""); w.Code != http.StatusNotFound {
		t.Errorf("a model the loop does not know: want 404, got %d %s", w.Code, w.Body)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(t, tiny("tiny"))
	h.node("a1")
	h.loop.view.Replicas = []reconciler.Replica{
		{ID: "tiny-1", Model: "tiny", Phase: reconciler.Run, Shards: []reconciler.Shard{{ID: "tiny-1.0", Spot: inventory.Allocation{Node: "a1"}}}},
		{ID: "tiny-2", Model: "tiny", Phase: reconciler.Run, Shards: []reconciler.Shard{{ID: "tiny-2.0", Spot: inventory.Allocation{Node: "a1"}}}},
		{ID: "tiny-3", Model: "tiny", Profile: catalog.Profile{Name: "gone"}, Phase: reconciler.Run, Shards: []reconciler.Shard{{ID: "tiny-3.0", Spot: inventory.Allocation{Node: "a1"}}}},
	}
	for i := range 2 {
		h.loop.view.Replicas[i].Profile = tiny("tiny").Profiles[0]
	}
	now := h.registry.Snapshot().Node("a1").LastSeen
	h.registry.Apply("a1", inventory.Report{Whole: true, Shards: []inventory.ShardStatus{
		{ID: "tiny-1.0", State: inventory.ShardReady}, {ID: "tiny-2.0", State: inventory.ShardStarting},
	}}, now)
	cases := []struct {
		name, body string
		status     int
		want       string
	}{
		{"one twice", `{"replicas":["tiny-2","tiny-2"]}`, 202, `{"queued":["tiny-2"]}`},
		{"ready ones of a model", `{"models":["tiny"],"in_place":true}`, 202, `{"queued":["tiny-1"]}`},
		{"all and one", `{"all":true,"replicas":["tiny-2"]}`, 202, `{"queued":["tiny-1","tiny-2"]}`},
		{"one unknown", `{"replicas":["tiny-1","gone-9"]}`, 404, "gone-9"},
		{"an unknown model", `{"models":["nobody"]}`, 404, "nobody"},
		{"nothing", `{}`, 400, "name replicas, models"},
		{"a rollout of what is not as it should be", `{"models":["tiny"],"replicas":["tiny-2","tiny-3"],"rollout":true}`, 202, `{"queued":["tiny-3"]}`},
		{"a rollout of nothing", `{"all":true,"rollout":true}`, 400, "runs what its definition says"},
		{"a rollout in place", `{"replicas":["tiny-3"],"rollout":true,"in_place":true}`, 400, "both in_place and rollout"},
		{"a rollout that borrows", `{"replicas":["tiny-3"],"rollout":true,"borrow":true}`, 202, `{"queued":["tiny-3"]}`},
		{"borrowing without a rollout", `{"replicas":["tiny-3"],"borrow":true}`, 400, "borrow without rollout"},
		{"the last", `{"all":true}`, 202, `{"queued":["tiny-1"]}`},
	}
	for _, c := range cases {
		h.loop.restarts = nil
		w := h.ask(http.MethodPost, "/api/v1/restart", c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: want %d %s, got %d %s", c.name, c.status, c.want, w.Code, w.Body)
		}
		if (c.status == 202) != (h.loop.restarts != nil) {
			t.Errorf("%s: got %v restarted", c.name, h.loop.restarts)
		}
	}
	if h.loop.mode != reconciler.Replace {
		t.Errorf("the last order was not in place, got %q", h.loop.mode)
	}
}

// TestHeaderAlone shows that a revision can be asked for without the definition.
func TestHeaderAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(t, tiny("tiny"))
	srv := httptest.NewServer(h.api)
	defer srv.Close()
	for path, want := range map[string]int{"/api/v1/models/tiny": http.StatusOK, "/api/v1/models/none": http.StatusNotFound, "/api/v1/restart": http.StatusMethodNotAllowed} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+h.tokens[storage.RoleViewer])
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || len(body) > 0 || err != nil || (want == http.StatusOK && resp.Header.Get("ETag") == "") {
			t.Errorf("%s: want %d without a body, got %d %q, %v", path, want, resp.StatusCode, body, err)
		}
	}
}
