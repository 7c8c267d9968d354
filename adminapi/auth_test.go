package adminapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/storage"
)

// filled is a pattern with its parameters filled in.
func filled(pattern string) string {
	return adminapi.Base + strings.NewReplacer("{name}", "nobody", "{id}", "nobody").Replace(pattern)
}

func refusalOf(t *testing.T, w *httptest.ResponseRecorder) view.Error {
	t.Helper()
	var e view.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Error == "" || e.Code == "" {
		t.Errorf("want an error view, got %q (%v)", w.Body.String(), err)
	}
	return e
}

func TestEveryRouteWantsACredential(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	revoked := h.token(t, storage.AdminToken{Name: "revoked", Role: storage.RoleOwner, RevokedAt: time.Now()})
	expired := h.token(t, storage.AdminToken{Name: "expired", Role: storage.RoleOwner, ExpiresAt: time.Now().Add(-time.Second)})
	_, unknown := storage.NewAdminSecret()
	owner := h.tokens[storage.RoleOwner]
	credentials := map[string]string{
		"none": "", "empty": "Bearer ", "wrong scheme": "Basic " + owner, "unknown": "Bearer " + unknown, "revoked": "Bearer " + revoked,
		"expired": "Bearer " + expired, "cut": "Bearer " + owner[:len(owner)-1], "longer": "Bearer " + owner + "x",
		"client key": "Bearer sk-llmgw-abcdefghij-" + strings.Repeat("A", 43),
	}
	for _, r := range adminapi.Routes() {
		for name, credential := range credentials {
			w := h.ask(r.Method, filled(r.Pattern), "{}", "Authorization", credential)
			if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s with %s: want 401 and a challenge, got %d %s", r.Method, r.Pattern, name, w.Code, w.Body)
			}
			if e := refusalOf(t, w); e.Code != "unauthenticated" {
				t.Errorf("%s %s with %s: want the code unauthenticated, got %s", r.Method, r.Pattern, name, e.Code)
			}
		}
	}
}

func TestEveryRouteWantsItsScope(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, r := range adminapi.Routes() {
		for _, role := range storage.Roles {
			if r.Name == "nodes.logs" {
				h.agents.logs = nil // it is never reached: there is no such node
			}
			may := auth.Identity{Role: role}.Has(r.Scope)
			w := h.ask(r.Method, filled(r.Pattern), "{}", "Authorization", "Bearer "+h.tokens[role])
			if (w.Code == http.StatusForbidden) == may || w.Code == http.StatusUnauthorized {
				t.Errorf("%s %s as %s: may %v, got %d %s", r.Method, r.Pattern, role, may, w.Code, w.Body)
			}
			if !may {
				if e := refusalOf(t, w); e.Code != "forbidden" || !strings.Contains(e.Error, string(auth.LeastRole(r.Scope))) {
					t.Errorf("%s %s as %s: want to be told which role would do, got %+v", r.Method, r.Pattern, role, e)
				}
			}
			if w.Code >= http.StatusInternalServerError {
				t.Errorf("%s %s as %s: got %d %s", r.Method, r.Pattern, role, w.Code, w.Body)
			}
		}
	}
}

func TestOnlyProbesAreOpen(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		w := h.ask(http.MethodGet, path, "", "Authorization", "", "Host", "")
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("GET %s: want 200 in plain text, got %d %s", path, w.Code, w.Body)
		}
	}
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	if w := h.ask(http.MethodGet, "/readyz", "", "Authorization", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("without its store it is not ready; got %d", w.Code)
	}
	if w := h.ask(http.MethodGet, "/healthz", "", "Authorization", ""); w.Code != http.StatusOK {
		t.Errorf("without its store it is alive still; got %d", w.Code)
	}
}

// Metrics name models and how much they are used: they are for those who may
// read.
func TestMetrics(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *adminapi.Config) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "llmgw_up 1\n") })
	})
	if w := h.ask(http.MethodGet, "/metrics", "", "Authorization", ""); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "llmgw_up") {
		t.Errorf("without a token: %d %s", w.Code, w.Body)
	}
	if w := h.ask(http.MethodGet, "/metrics", "", "Authorization", "Bearer "+h.tokens[storage.RoleViewer]); w.Code != http.StatusOK || w.Body.String() != "llmgw_up 1\n" {
		t.Errorf("with a viewer's token: %d %s", w.Code, w.Body)
	}
	if w := newHouse(t).ask(http.MethodGet, "/metrics", ""); w.Code != http.StatusNotImplemented {
		t.Errorf("where there are none: %d %s", w.Code, w.Body)
	}
}

func TestTooManyFailures(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *adminapi.Config) {
		b, err := auth.New(auth.Config{Tokens: c.AdminTokens.(auth.Tokens), Pepper: c.Pepper, FailuresPerMinute: 2})
		if err != nil {
			t.Fatal(err)
		}
		c.Auth = b
	})
	for range 2 {
		h.ask(http.MethodGet, "/api/v1/models", "", "Authorization", "Bearer wrong")
	}
	w := h.ask(http.MethodGet, "/api/v1/models", "", "Authorization", "Bearer wrong", "X-Forwarded-For", "127.0.0.1")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || refusalOf(t, w).Code != "rate_limited" {
		t.Errorf("want 429 with Retry-After, got %d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestPagesOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *adminapi.Config) { c.Hosts = []string{"admin.example.org"} })
	cases := []struct {
		name, host, method string
		header             []string
		want               int
	}{
		{"an address", "192.0.2.1:7070", "GET", nil, 200},
		{"an address of version 6", "[::1]:7070", "GET", nil, 200},
		{"localhost", "localhost", "GET", nil, 200},
		{"a configured name", "Admin.Example.org:7070", "GET", nil, 200},
		{"a name of others", "rebound.example.net", "GET", nil, 403},
		{"a name that begins like localhost", "localhost.example.net", "GET", nil, 403},
		{"a page of others", "127.0.0.1:7070", "POST", []string{"Origin", "https://example.net"}, 403},
		{"a page of others, as browsers say", "127.0.0.1:7070", "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a page of our own", "127.0.0.1:7070", "POST", []string{"Origin", "http://127.0.0.1:7070", "Sec-Fetch-Site", "same-origin"}, 400},
		{"no browser", "127.0.0.1:7070", "POST", nil, 400},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(c.method, "http://"+c.host+"/api/v1/models", strings.NewReader("{}"))
			r.Header.Set("Authorization", "Bearer "+h.tokens[storage.RoleOwner])
			r.Header.Set("Content-Type", "application/json")
			for i := 0; i+1 < len(c.header); i += 2 {
				r.Header.Set(c.header[i], c.header[i+1])
			}
			w := httptest.NewRecorder()
			h.api.ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("want %d, got %d %s", c.want, w.Code, w.Body)
			}
		})
	}
}

func TestInsecureActsAsOwnerOnLoopback(t *testing.T) {
	t.Parallel()
	open, err := auth.NewInsecure("127.0.0.1:7070")
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, func(c *adminapi.Config) { c.Auth = open })
	for addr, want := range map[string]int{"127.0.0.1:9": 200, "192.0.2.1:9": 401} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/v1/keys", nil)
		r.RemoteAddr = addr
		w := httptest.NewRecorder()
		h.api.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("from %s: want %d, got %d %s", addr, want, w.Code, w.Body)
		}
	}
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if w := h.ask(http.MethodGet, "/api/v1/nothing", ""); w.Code != http.StatusNotFound || refusalOf(t, w).Code != "not_found" {
		t.Errorf("want 404, got %d %s", w.Code, w.Body)
	}
	w := h.ask(http.MethodPatch, "/api/v1/models/x", "")
	if got := fmt.Sprint(w.Header()["Allow"]); w.Code != http.StatusMethodNotAllowed || got != "[GET HEAD PUT DELETE]" {
		t.Errorf("want 405 that allows GET, HEAD, PUT and DELETE, got %d %s %s", w.Code, got, w.Body)
	}
	refusalOf(t, w)
}
