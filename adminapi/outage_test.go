package adminapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

// TestCutOffIsNoSuccess shows that a request which ends with the process is
// answered: a handler that writes nothing answers 200.
func TestCutOffIsNoSuccess(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodDelete, "http://127.0.0.1/api/v1/keys/abcdefghij", nil)
	r.Header.Set("Authorization", "Bearer "+h.tokens[storage.RoleOwner])
	w := httptest.NewRecorder()
	h.api.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "ask again") {
		t.Errorf("want 503 that says what to do, got %d %q", w.Code, w.Body)
	}
}

// deaf is a loop that keeps no order, as while the store is away, or takes none.
type deaf struct{ err error }

func (d deaf) Retry(ctx context.Context, _ catalog.Name) (bool, error) {
	return false, d.Restart(ctx, nil, "")
}

func (d deaf) ReleaseBrake(ctx context.Context) (bool, error) {
	return d.Retry(ctx, "")
}

func (d deaf) Restart(ctx context.Context, _ []reconciler.ReplicaID, _ reconciler.RestartMode) error {
	if d.err != nil {
		return d.err
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestOrderThatNobodyTakes shows that a caller hears so, and when to ask again.
func TestOrderThatNobodyTakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		loop deaf
		code int
		says string
	}{
		"the store is away":  {code: http.StatusGatewayTimeout, says: "ask again"},
		"another one leads":  {loop: deaf{reconciler.ErrNotLeading}, code: http.StatusServiceUnavailable, says: "ask the one that does"},
		"the disk is full":   {loop: deaf{fmt.Errorf("write: %w", storage.ErrFull)}, code: http.StatusServiceUnavailable, says: "free some space"},
		"the store is wrong": {loop: deaf{errors.New("row 5")}, code: http.StatusInternalServerError, says: "log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, func(cfg *adminapi.Config) { cfg.Operator = c.loop })
				h.must(t, tiny("tiny"))
				began := time.Now()
				w := h.ask(http.MethodPost, "/api/v1/models/tiny/retry", "")
				if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
					t.Errorf("want %d that says %q, got %d %s", c.code, c.says, w.Code, w.Body)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// meddler changes the idle timeout once, just before somebody else's change.
type meddler struct {
	*catalog.Service
	once sync.Once
	idle catalog.Duration
}

func (m *meddler) Change(ctx context.Context, name catalog.Name, c catalog.Change, expected *int64, by catalog.Author) (catalog.Entry, error) {
	var err error
	m.once.Do(func() {
		_, err = m.Service.Change(ctx, name, catalog.Change{Scaling: &catalog.Scaling{Max: new(3), IdleTimeout: m.idle}}, nil, by)
	})
	if err != nil {
		return catalog.Entry{}, err
	}
	return m.Service.Change(ctx, name, c, expected, by)
}

// TestScaleLosesNothing shows that an idle timeout which was set meanwhile is
// kept by a scaling that does not name one.
func TestScaleLosesNothing(t *testing.T) {
	t.Parallel()
	idle := catalog.Duration(7 * time.Minute)
	var m *meddler
	h := newHouse(t, func(cfg *adminapi.Config) {
		m = &meddler{Service: cfg.Models.(*catalog.Service), idle: idle}
		cfg.Models = m
	})
	h.must(t, tiny("tiny"))
	c := h.client(t, storage.RoleOperator)
	r, err := c.ScaleModel(t.Context(), "tiny", view.ScaleRequest{Max: new(2)})
	if err != nil || r.Max != 2 || r.IdleTimeout != idle {
		t.Errorf("want at most 2 that idle for %s, got %+v, %v", idle, r, err)
	}
	e, _ := h.models.Index().Get("tiny")
	m.once, m.idle = sync.Once{}, idle+1
	w := h.ask(http.MethodPost, "/api/v1/models/tiny/scale", `{"min":0,"max":1}`, "If-Match", fmt.Sprintf("%q", fmt.Sprint(e.Revision)))
	if w.Code != http.StatusPreconditionFailed {
		t.Errorf("a guarded change must not be made anew: want 412, got %d %s", w.Code, w.Body)
	}
}

// TestModelsComeInPages shows that the list of models can grow.
func TestModelsComeInPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, name := range []catalog.Name{"a", "b", "c"} {
		h.must(t, tiny(name))
	}
	w := h.ask(http.MethodGet, "/api/v1/models?limit=2", "")
	if !strings.Contains(w.Header().Get("Link"), `rel="next"`) || strings.Count(w.Body.String(), `"profiles"`) != 2 {
		t.Errorf("want two models and where to go on, got %q %s", w.Header().Get("Link"), w.Body)
	}
	models, err := h.client(t, storage.RoleViewer).Models(t.Context())
	if err != nil || len(models) != 4 {
		t.Errorf("want all four, got %d, %v", len(models), err)
	}
}

// TestKeyWithoutMeaning shows that lists which could mean everything or nothing
// are refused, and that a project which is not there is named.
func TestKeyWithoutMeaning(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.ask(http.MethodPost, "/api/v1/keys", `{"name":"ci","models":[],"cidrs":[]}`)
	for _, says := range []string{"models is empty", "cidrs is empty"} {
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), says) {
			t.Errorf("want 400 that says %q, got %d %s", says, w.Code, w.Body)
		}
	}
	_, err := h.client(t, storage.RoleOwner).CreateKey(t.Context(), view.KeyRequest{Name: "ci", Project: "nowhere"})
	wantRefusal(t, err, http.StatusNotFound, "not_found", `no project "nowhere"`)
	if keys, _, err := h.client(t, storage.RoleOwner).Keys(t.Context(), adminclient.List{}); err != nil || len(keys) != 0 {
		t.Errorf("want no key made, got %+v, %v", keys, err)
	}
}
