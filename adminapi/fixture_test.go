package adminapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/fabrics"
	"llmgw.io/llmgw/placement/dryrun"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/memstore"
)

// The real parts fit the seams.
var (
	_ adminapi.Models        = (*catalog.Service)(nil)
	_ adminapi.Nodes         = (*inventory.Registry)(nil)
	_ adminapi.Snapshots     = (*inventory.Registry)(nil)
	_ adminapi.Usage         = storage.Store(nil)
	_ adminapi.Requests      = storage.Store(nil)
	_ adminapi.Keys          = storage.Store(nil)
	_ adminapi.Audit         = storage.Store(nil)
	_ adminapi.AdminTokens   = storage.Store(nil)
	_ adminapi.JoinTokens    = storage.Store(nil)
	_ adminapi.Health        = storage.Store(nil)
	_ adminapi.Authenticator = (*auth.Bearer)(nil)
	_ adminapi.Authenticator = (*auth.Insecure)(nil)
)

// fakeLoop is a control loop that never runs: it shows what it is given, and
// remembers what was ordered.
type fakeLoop struct {
	mu       sync.Mutex
	view     reconciler.View
	registry *inventory.Registry
	models   *catalog.Service
	headroom func(catalog.Name, int) (reconciler.Headroom, error)
	help     func(catalog.Name) (reconciler.Help, error)
	retry    func(catalog.Name) (bool, error)
	limits   []int
	restarts []reconciler.ReplicaID
	mode     reconciler.RestartMode
}

func (f *fakeLoop) View() *reconciler.View {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := f.view
	return &v
}

func (f *fakeLoop) Headroom(m catalog.Name, limit int) (reconciler.Headroom, error) {
	f.mu.Lock()
	f.limits = append(f.limits, limit)
	f.mu.Unlock()
	if f.headroom != nil {
		return f.headroom(m, limit)
	}
	return reconciler.Headroom{}, nil
}

func (f *fakeLoop) Help(m catalog.Name) (reconciler.Help, error) {
	if f.help != nil {
		return f.help(m)
	}
	return reconciler.Help{}, nil
}

func (f *fakeLoop) PlanHold(h inventory.Hold) reconciler.HoldPlan {
	v := f.View()
	v.Catalog, v.Fleet = f.models.Index(), f.registry.Snapshot()
	return reconciler.Reconciler{}.PlanHold(v, h, time.Now(), nil)
}

func (f *fakeLoop) PlanChange(c dryrun.Change) (dryrun.Report, error) {
	v := f.View()
	v.At, v.Catalog, v.Fleet = time.Now(), f.models.Index(), f.registry.Snapshot()
	return dryrun.Plan(reconciler.Reconciler{}, v, c)
}

func (f *fakeLoop) ReleaseBrake(context.Context) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wasSet := f.view.Brake.On()
	f.view.Brake = reconciler.Brake{}
	return wasSet, nil
}

func (f *fakeLoop) Retry(_ context.Context, m catalog.Name) (bool, error) {
	if f.retry != nil {
		return f.retry(m)
	}
	return false, nil
}

func (f *fakeLoop) Restart(_ context.Context, ids []reconciler.ReplicaID, mode reconciler.RestartMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.restarts, f.mode = ids, mode
	return nil
}

// fakeAgents answers with a log of its own.
type fakeAgents struct {
	logs func(ctx context.Context, node, shard string, tail int, follow bool) (io.ReadCloser, error)
	test func(ctx context.Context, in view.FabricTestRequest) (view.FabricTestResult, error)
	// upgrade nil takes every version.
	upgrade func(node, version string) (*inventory.Upgrade, error)
}

func (f *fakeAgents) Upgrade(_ context.Context, node, version string) (*inventory.Upgrade, error) {
	if f.upgrade != nil {
		return f.upgrade(node, version)
	}
	return nil, nil
}

func (f *fakeAgents) Logs(ctx context.Context, node, shard string, tail int, follow bool) (io.ReadCloser, error) {
	return f.logs(ctx, node, shard, tail, follow)
}

// fakeFabrics remembers what it is given, and walks as walk does.
type fakeFabrics struct {
	memory fabrics.Memory
	scans  map[string]fabrics.Scan
	walk   func(key string) (fabrics.Scan, error)
}

func (f *fakeFabrics) Memory() fabrics.Memory { return f.memory }

func (f *fakeFabrics) Newest(key string) (fabrics.Scan, bool) {
	s, ok := f.scans[key]
	return s, ok
}

func (f *fakeFabrics) Scan(_ context.Context, key string) (fabrics.Scan, error) {
	s, err := f.walk(key)
	f.scans[key] = s
	return s, err
}

func (f *fakeAgents) FabricTest(ctx context.Context, in view.FabricTestRequest) (view.FabricTestResult, error) {
	return f.test(ctx, in)
}

// Collect removes nothing.
func (f *fakeAgents) Collect(context.Context, string, []string) (inventory.Collected, error) {
	return inventory.Collected{}, nil
}

// fakeChoices knows one request, which two replicas were asked for.
type fakeChoices struct{}

func (fakeChoices) ExplainRequest(id string) (view.RequestExplain, bool) {
	options := []view.ChoiceOption{{Replica: "tiny-1", WorkMS: 120, CachedTokens: 700, AdapterResident: true, Cost: .5}, {Replica: "tiny-2", WaitMS: 90, WorkMS: 1500, LastResort: true}}
	return view.ExplainRequest(id, []view.Choice{
		{Model: "tiny", Replica: "tiny-1", PromptTokens: 800, Options: options, More: 7}, {Model: "tiny", Replica: "tiny-2", Options: options[1:]},
	}), id == "req_known"
}

// house is a control plane without a loop: everything else is real.
type house struct {
	api      *adminapi.API
	store    *memstore.Store
	registry *inventory.Registry
	models   *catalog.Service
	loop     *fakeLoop
	agents   *fakeAgents
	fabrics  *fakeFabrics
	pepper   storage.Pepper
	tokens   map[storage.Role]string
	log      *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newHouse(t *testing.T, change ...func(*adminapi.Config)) *house {
	t.Helper()
	h := &house{store: memstore.New(), agents: &fakeAgents{}, fabrics: &fakeFabrics{scans: map[string]fabrics.Scan{}}, pepper: storage.NewPepper(), tokens: map[storage.Role]string{}, log: &lockedBuffer{}}
	logger := slog.New(slog.NewTextHandler(h.log, nil))
	var err error
	if h.registry, err = inventory.NewRegistry(t.Context(), inventory.RegistryConfig{Store: h.store, Holds: h.store}, time.Now()); err != nil {
		t.Fatal(err)
	}
	h.models, err = catalog.NewService(t.Context(), catalog.ServiceConfig{
		Store: h.store, Declared: []catalog.Model{{Name: "declared", Source: "file:///m.gguf", Profiles: []catalog.Profile{{Name: "cpu", Engine: "sim", MemoryGB: 1}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.loop = &fakeLoop{registry: h.registry, models: h.models}
	for _, role := range storage.Roles {
		h.tokens[role] = h.token(t, storage.AdminToken{Name: string(role), Role: role})
	}
	bearer, err := auth.New(auth.Config{Tokens: h.store, Pepper: h.pepper, FailuresPerMinute: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	cfg := adminapi.Config{
		Auth: bearer, Models: h.models, Cluster: h.loop, Operator: h.loop, Nodes: h.registry, NodeCalls: h.agents,
		Usage: h.store, Keys: h.store, Audit: h.store, AdminTokens: h.store, JoinTokens: h.store, Store: h.store, Pepper: h.pepper,
		NewJoinToken: func() (adminapi.JoinSecret, error) {
			return adminapi.JoinSecret{ID: "abcdefghij", Hash: strings.Repeat("ab", 32), Token: "llmgw-join-abcdefghij.CANARYJOIN.pin"}, nil
		},
		Choices:   fakeChoices{},
		Fabrics:   h.fabrics,
		EngineKey: func(replica string) string { return "CANARYENGINE-" + replica },
		Version:   "test", Logger: logger,
	}
	for _, c := range change {
		c(&cfg)
	}
	if h.api, err = adminapi.New(cfg); err != nil {
		t.Fatal(err)
	}
	return h
}

// token keeps an admin token and returns its secret.
func (h *house) token(t *testing.T, row storage.AdminToken) string {
	t.Helper()
	id, secret := storage.NewAdminSecret()
	row.ID, row.Hash, row.CreatedAt, row.CreatedBy = id, h.pepper.Hash(secret), time.Now(), "test"
	if err := h.store.CreateAdminToken(t.Context(), row, inventory.Author{Principal: "test"}); err != nil {
		t.Fatal(err)
	}
	if !row.RevokedAt.IsZero() {
		if err := h.store.RevokeAdminToken(t.Context(), id, inventory.Author{Principal: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	return secret
}

// ask sends one request to the API, as the owner unless a header says
// otherwise, and returns the answer whole.
func (h *house) ask(method, target, body string, header ...string) *httptest.ResponseRecorder {
	return h.askAs(h.api, method, target, body, header...)
}

func (h *house) askAs(handler http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:7070"+target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+h.tokens[storage.RoleOwner])
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Del(header[i])
		if header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// must adds a definition.
func (h *house) must(t *testing.T, m catalog.Model) catalog.Entry {
	t.Helper()
	e, err := h.models.Add(t.Context(), m, inventory.Author{Principal: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// tiny is a definition that is right.
func tiny(name catalog.Name) catalog.Model {
	return catalog.Model{
		Name: name, Source: "file:///weights/tiny.gguf",
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, MemoryGB: 2, CPUCores: 1}},
	}
}

// node makes a node known that was just heard.
func (h *house) node(id inventory.NodeID, devices ...inventory.Device) {
	now := time.Now()
	facts := inventory.Facts{Hostname: string(id), AgentVersion: "v0.0.1", MemoryMB: 65536, CPUs: 16, Devices: devices, Engines: []inventory.Engine{{Name: "llamacpp", Build: "cpu"}}}
	h.registry.Apply(id, inventory.Report{Facts: &facts, Whole: true, At: now}, now)
}

// client is a typed client of a listening server.
func (h *house) client(t *testing.T, role storage.Role) *adminclient.Client {
	t.Helper()
	srv := httptest.NewServer(h.api)
	t.Cleanup(srv.Close)
	c, err := adminclient.New(adminclient.Config{BaseURL: srv.URL, Token: h.tokens[role], Actor: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantRefusal checks status and code, and that the sentence says what it must.
func wantRefusal(t *testing.T, err error, status int, code, says string) {
	t.Helper()
	var e *adminclient.Error
	if !errors.As(err, &e) {
		t.Fatalf("want a refusal %d %s, got %v", status, code, err)
	}
	if e.Status != status || e.Code != code || !strings.Contains(e.Text, says) {
		t.Errorf("want %d %s that says %q, got %d %s %q", status, code, says, e.Status, e.Code, e.Text)
	}
}
