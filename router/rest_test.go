package router_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

// trap is a picker that panics.
type trap struct{}

func (trap) Pick([]router.Candidate, router.Ask) int { panic("a trap") }

// What panics while a stream's replica is chosen is the handler's panic, with the
// place where it came from, and ends no process.
func TestPanicIsTheHandlers(t *testing.T) {
	t.Parallel()
	var fleet routertest.Fleet
	fleet.Set("m", router.Backend{ID: "r1", Address: "r1:1"}, router.Backend{ID: "r2", Address: "r2:1"})
	id, secret := storage.NewKeySecret()
	r, err := router.New(router.Config{
		Models: routertest.NewCatalog(catalog.Model{Name: "m", Profiles: managed()}), Backends: &fleet, Usage: &routertest.Books{}, Pepper: pepper,
		Declared: []storage.Key{{ID: id, Hash: pepper.Hash(secret)}}, Picker: trap{},
	})
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, chatPath, strings.NewReader(streamBody))
	req.Header.Set("Authorization", "Bearer "+secret)
	defer func() {
		text, _ := recover().(string)
		if !strings.HasPrefix(text, "a trap") || !strings.Contains(text, "trap.Pick") {
			t.Errorf("the handler panicked with %q", text)
		}
		for id, at := range r.Traffic().Replicas {
			if at.InFlight != 0 {
				t.Errorf("%d requests are counted at %s", at.InFlight, id)
			}
		}
	}()
	r.ServeHTTP(httptest.NewRecorder(), req)
}
