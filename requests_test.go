package llmgw

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/memstore"
)

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRequestRouterRefusesManagedModels shows that a router alone takes no model
// that nobody would start, neither at first nor later.
func TestRequestRouterRefusesManagedModels(t *testing.T) {
	t.Parallel()
	cfg := Config{Store: memstore.New(), Pepper: storage.NewPepper(), Settings: File{Models: []catalog.Model{tiny(1)}}}
	if _, err := NewRequestRouter(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "static") {
		t.Errorf("want a refusal that says what would do, got %v", err)
	}
	cfg.Settings.Models = nil
	r, err := NewRequestRouter(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reload(File{Models: []catalog.Model{tiny(1)}}); err == nil {
		t.Error("a reload brought a model in that nobody starts")
	}
}

// TestRequestRouter serves a declared model that others run, for a declared key.
func TestRequestRouter(t *testing.T) {
	t.Parallel()
	engine := httptest.NewServer(http.NotFoundHandler())
	defer engine.Close()
	pepper := storage.NewPepper()
	id, secret := storage.NewKeySecret()
	r, err := NewRequestRouter(t.Context(), Config{Store: memstore.New(), Pepper: pepper, Settings: File{
		Listen: ListenFile{Client: Listener{Address: "127.0.0.1:0"}},
		Keys:   []KeyFile{{Name: "ci", ID: id, Hash: pepper.Hash(secret)}},
		Models: []catalog.Model{{Name: "theirs", Profiles: []catalog.Profile{{
			Name: "theirs", Engine: catalog.EngineStatic, Endpoints: []catalog.Endpoint{{URL: engine.URL}},
		}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	listens, done := make(chan Addresses, 1), make(chan error, 1)
	go func() { done <- r.ListenAndServe(ctx, func(a Addresses) { listens <- a }) }()
	a := <-listens
	if a.Client == "" || a.Admin != "" || a.Agents != "" {
		t.Errorf("want a listener for clients alone, got %+v", a)
	}
	for key, want := range map[string]int{secret: http.StatusOK, "sk-none": http.StatusUnauthorized} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.Client+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("want %d, got %d", want, resp.StatusCode)
		}
	}
	end()
	if err := <-done; err != nil {
		t.Errorf("want a clean end, got %v", err)
	}
}
