package router_test

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

// bodies are a request for each path that takes one.
func bodies() map[string]string {
	return map[string]string{
		chatPath: chatBody, completionPath: `{"model":"m","prompt":"p"}`, embeddingPath: `{"model":"m","input":"i"}`,
	}
}

// Nobody comes in without a good key, on any route, and each refusal has the
// API's form (gpustack/gpustack#3142).
func TestCredentials(t *testing.T) {
	t.Parallel()
	inWorld(t, func(c *router.Config) { c.Limits.FailedCredentials = -1 }, func(w *world) {
		e := w.one(nil)
		put := func(k storage.Key) string {
			id, secret := storage.NewKeySecret()
			k.ID, k.Hash = id, pepper.Hash(secret)
			w.keys.Put(k)
			return "Bearer " + secret
		}
		_, unknown := storage.NewKeySecret()
		now := time.Now()
		for _, c := range []struct {
			name, header string
			status       int
			typ          string
		}{
			{"no header", "", 401, "authentication_error"},
			{"empty bearer", "Bearer ", 401, "authentication_error"},
			{"bearer alone", "Bearer", 401, "authentication_error"},
			{"wrong scheme", "Basic " + w.key, 401, "authentication_error"},
			{"no scheme", w.key, 401, "authentication_error"},
			{"nonsense", "Bearer nonsense", 401, "authentication_error"},
			{"unknown", "Bearer " + unknown, 401, "authentication_error"},
			{"wrong secret", "Bearer " + w.key[:len(w.key)-1] + "_", 401, "authentication_error"},
			{"right secret, another's id", "Bearer " + strings.Replace(unknown, unknown[:20], w.key[:20], 1), 401, "authentication_error"},
			{"revoked", put(storage.Key{RevokedAt: now.Add(time.Hour)}), 401, "authentication_error"},
			{"expired", put(storage.Key{ExpiresAt: now}), 401, "authentication_error"},
			{"another address", put(storage.Key{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}), 403, "permission_error"},
			{"another model", put(storage.Key{Models: []string{"other"}}), 403, "permission_error"},
			{"no model", put(storage.Key{Models: []string{}}), 403, "permission_error"},
		} {
			for path, body := range bodies() {
				req := w.request(http.MethodPost, path, body)
				req.Header.Del("Authorization")
				if c.header != "" {
					req.Header.Set("Authorization", c.header)
				}
				a := w.do(req)
				if typ, _, _ := errorOf(t, a); a.status != c.status || typ != c.typ {
					t.Errorf("%s at %s: %d %s", c.name, path, a.status, a.body)
				}
			}
		}
		if len(e.Calls()) != 0 {
			t.Errorf("the engine was asked %d times", len(e.Calls()))
		}
		// A key of a model may use it by its alias too, and sees no other.
		own := put(storage.Key{Models: []string{"m"}})
		req := w.request(http.MethodPost, chatPath, strings.Replace(chatBody, `"m"`, `"nick"`, 1))
		req.Header.Set("Authorization", own)
		if a := w.do(req); a.status != 200 {
			t.Errorf("the alias is answered %d %s", a.status, a.body)
		}
		for _, row := range w.rows() {
			if row.KeyID == "" || row.Status == 401 {
				t.Errorf("a stranger has left the row %+v", row)
			}
		}
		if n := w.router.Unauthenticated(); n != 11*3 {
			t.Errorf("%d strangers are counted", n)
		}
	})
}

// A key counts in its one place and in no other, and there only once.
func TestCredentialsElsewhere(t *testing.T) {
	t.Parallel()
	inWorld(t, func(c *router.Config) { c.Limits.FailedCredentials = -1 }, func(w *world) {
		e := w.one(nil)
		good := "Bearer " + w.key
		for name, header := range map[string]http.Header{
			"another header":    {"X-Api-Key": {w.key}},
			"a proxy's header":  {"Proxy-Authorization": {good}},
			"a cookie":          {"Cookie": {"Authorization=" + w.key}},
			"the second of two": {"Authorization": {"Bearer sk-llmgw-wrong", good}},
			"the first of two":  {"Authorization": {good, "Bearer sk-llmgw-wrong"}},
			"twice":             {"Authorization": {good, good}},
			"two in one":        {"Authorization": {good + ", " + good}},
			"in upper case":     {"Authorization": {strings.ToUpper(good)}},
			"escaped":           {"Authorization": {strings.ReplaceAll(good, "-", "%2d")}},
		} {
			req := w.request(http.MethodPost, chatPath+"?api_key="+w.key+"&access_token="+w.key, chatBody)
			req.Header.Del("Authorization")
			for k, v := range header {
				req.Header[k] = v
			}
			if a := w.do(req); a.status != http.StatusUnauthorized || strings.Contains(a.body, w.key) {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		if len(e.Calls()) != 0 || strings.Contains(w.logs.String(), w.key) {
			t.Errorf("the engine was asked %d times, and the log has\n%s", len(e.Calls()), w.logs.String())
		}
	})
}

// Every route but health wants a key (gpustack/gpustack#5836).
func TestRoutesWantAKey(t *testing.T) {
	t.Parallel()
	inWorld(t, func(c *router.Config) { c.Limits.FailedCredentials = -1 }, func(w *world) {
		open := 0
		for _, route := range router.Routes() {
			for _, header := range []string{"", "Bearer sk-llmgw-wrong"} {
				path := route.Path
				if strings.HasSuffix(path, "/") {
					path += "m"
				}
				req := w.request(route.Method, path, "")
				req.Header.Set("Authorization", header)
				a := w.do(req)
				if route.Open != (a.status == 200) || !route.Open && a.status != 401 {
					t.Errorf("%s %s with %q is answered %d", route.Method, path, header, a.status)
				}
			}
			if route.Open {
				open++
			}
		}
		if open != 2 {
			t.Errorf("%d routes are open", open)
		}
		for _, path := range []string{"/", "/debug/pprof/", "/metrics", "/v1", "/v1/files", "/health", "/v1/chat", "/admin"} {
			if a := w.do(w.request(http.MethodGet, path, "")); a.status != 404 {
				t.Errorf("GET %s is answered %d", path, a.status)
			}
		}
	})
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	err := errors.New("the store is away")
	inWorld(t, func(c *router.Config) { c.Ready = func() error { return err } }, func(w *world) {
		if a := w.do(w.request(http.MethodGet, "/readyz", "")); a.status != 503 || a.body != "the store is away\n" {
			t.Errorf("answered %d %q", a.status, a.body)
		}
		if a := w.do(w.request(http.MethodGet, "/healthz", "")); a.status != 200 {
			t.Errorf("answered %d %q", a.status, a.body)
		}
	})
}

// Guessing costs the guesser: after ten wrong keys an address waits, without a
// question to the store, and who has a key that is known goes on.
func TestFailedCredentials(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.one(nil)
		w.post(chatPath, chatBody)
		guess := func() answered {
			_, secret := storage.NewKeySecret()
			req := w.request(http.MethodPost, chatPath, chatBody)
			req.Header.Set("Authorization", "Bearer "+secret)
			return w.do(req)
		}
		for i := range 10 {
			if a := guess(); a.status != 401 {
				t.Fatalf("guess %d is answered %d", i+1, a.status)
			}
		}
		asked := w.keys.Asked()
		if a := guess(); a.status != 429 || a.header.Get("Retry-After") != "60" {
			t.Errorf("guess 11 is answered %d %v", a.status, a.header)
		}
		if w.keys.Asked() != asked {
			t.Error("the store was asked for a guess beyond the limit")
		}
		if a := w.post(chatPath, chatBody); a.status != 200 {
			t.Errorf("a good key is answered %d", a.status)
		}
		wait(t, time.Minute)
		if a := guess(); a.status != 401 {
			t.Errorf("a minute later a guess is answered %d", a.status)
		}
	})
}

func TestKeysAreCached(t *testing.T) {
	t.Parallel()
	down := false
	inWorld(t, nil, func(w *world) {
		w.one(nil)
		w.keys.Fail = func() error {
			if down {
				return errors.New("store away")
			}
			return nil
		}
		status := func() int { return w.post(chatPath, chatBody).status }
		status()
		status()
		if n := w.keys.Asked(); n != 1 {
			t.Errorf("the store was asked %d times", n)
		}
		w.keys.Put(storage.Key{ID: w.keyID, Hash: pepper.Hash(w.key), RevokedAt: time.Now()})
		if s := status(); s != 200 {
			t.Errorf("the key that is believed is answered %d", s)
		}
		w.router.ForgetKey(w.keyID)
		if s := status(); s != 401 {
			t.Errorf("the revoked key is answered %d", s)
		}
		w.keys.Put(storage.Key{ID: w.keyID, Hash: pepper.Hash(w.key)})
		wait(t, 6*time.Second)
		if s := status(); s != 200 {
			t.Errorf("after 6 seconds the key is answered %d", s)
		}
		down = true
		wait(t, time.Minute)
		if s := status(); s != 200 {
			t.Errorf("with the store away a key that was good is answered %d", s)
		}
		w.router.ForgetKey(w.keyID)
		a := w.post(chatPath, chatBody)
		if typ, code, _ := errorOf(t, a); a.status != 503 || typ != "overloaded_error" || code != "keys_unavailable" {
			t.Errorf("with the store away an unknown key is answered %d %s", a.status, a.body)
		}
	})
}

// A declared key beats one of the store, and needs no store.
func TestDeclaredKeys(t *testing.T) {
	t.Parallel()
	id, secret := storage.NewKeySecret()
	inWorld(t, func(c *router.Config) {
		c.Declared = []storage.Key{{ID: id, Hash: pepper.Hash(secret), Declared: true}}
	}, func(w *world) {
		w.one(nil)
		w.keys.Put(storage.Key{ID: id, Hash: "other"})
		w.key = secret
		if a := w.post(chatPath, chatBody); a.status != 200 || w.keys.Asked() != 0 {
			t.Errorf("answered %d after %d questions", a.status, w.keys.Asked())
		}
	})
}

// A key that a client puts where it does not belong is kept nowhere
// (BerriAI/litellm#30736).
func TestKeysAreKeptNowhere(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		canary := w.key
		secret := canary[len("sk-llmgw-")+11:]
		answers := []func(httpWriter, routertest.Call){
			nil, routertest.JSON(500, `{"error":{"message":"failed with key engine-secret-r1 at r1:1","code":500}}`),
			routertest.JSON(400, `{"error":{"message":"bad request at http://r1:1/v1","code":400}}`),
			routertest.JSON(503, "x"), routertest.Cut(content("a")), routertest.Stream(content("a"), event(`{"error":{"message":"engine-secret-r1"}}`)),
		}
		e := w.one(nil)
		var seen strings.Builder
		for _, answer := range answers {
			e.Answer = answer
			for _, body := range []string{
				chatBody, streamBody, `{`, `{"model":"` + canary + `","messages":[{}]}`,
				`{"model":"m","user":"` + canary + `","messages":[{"role":"user","content":"` + canary + `"}]}`,
			} {
				req := w.request(http.MethodPost, chatPath+"?api_key="+canary+"&x="+canary, body)
				req.Header.Set("X-Request-Id", "mine:"+canary)
				a := w.do(req)
				seen.WriteString(a.body)
			}
		}
		for _, path := range []string{"/v1/models/" + canary, "/" + canary} {
			seen.WriteString(w.do(w.request(http.MethodGet, path, "")).body)
		}
		for _, row := range w.rows() {
			seen.Write(openai.AppendString(nil, row.Model+row.EndUser+row.Tags["client_request_id"]+row.Replica))
			for _, a := range row.Attempts {
				seen.WriteString(a.Error)
			}
		}
		seen.WriteString(w.logs.String())
		for _, leak := range []string{secret, "engine-secret", "r1:1"} {
			if i := strings.Index(seen.String(), leak); i >= 0 {
				t.Errorf("%q is to be seen: %s", leak, seen.String()[max(0, i-200):i+len(leak)])
			}
		}
		if !strings.Contains(seen.String(), w.keyID) {
			t.Error("the log does not tell whose key it was")
		}
	})
}

// What a client writes into headers proves nothing about its address
// (go-chi/chi GHSA-rjr7-jggh-pgcp).
func TestClientAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, peer, forwarded string
		want                  int
	}{
		{"no proxy", "10.0.0.5:1", "", 200},
		{"a liar", "9.9.9.9:1", "10.0.0.5", 403},
		{"through the proxy", "192.168.0.1:1", "10.0.0.5", 200},
		{"a liar through the proxy", "192.168.0.1:1", "10.0.0.5, 9.9.9.9", 403},
		{"through two proxies", "192.168.0.1:1", "10.0.0.5, 192.168.0.2", 200},
		{"nonsense", "192.168.0.1:1", "10.0.0.5, what", 403},
		{"IPv4 in IPv6", "[::ffff:10.0.0.5]:1", "", 200},
	} {
		inWorld(t, func(cfg *router.Config) { cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16")} }, func(w *world) {
			w.keys.Put(storage.Key{ID: w.keyID, Hash: pepper.Hash(w.key), CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
			w.one(nil)
			stop := w.net.Serve("router:80", http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				req.RemoteAddr = c.peer
				w.router.ServeHTTP(rw, req)
			}))
			defer stop()
			req := w.request(http.MethodPost, chatPath, chatBody)
			req.Header.Set("True-Client-Ip", "10.0.0.5")
			req.Header.Set("X-Real-Ip", "10.0.0.5")
			if c.forwarded != "" {
				req.Header.Set("X-Forwarded-For", c.forwarded)
			}
			if a := w.do(req); a.status != c.want {
				t.Errorf("%s: answered %d", c.name, a.status)
			}
			w.client.CloseIdleConnections()
		})
	}
}

// Names with slashes are found in both spellings (ollama/ollama#10139).
func TestModels(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.catalog.Set(
			catalog.Model{
				Name: "org/name:tag", Aliases: []catalog.Name{"nick"}, Owner: "team", ContextLength: 4096, Capabilities: []string{"chat"},
				Adapters: []catalog.Adapter{{Name: "tuned"}},
			},
			catalog.Model{Name: "other"},
		)
		get := func(path string) answered { return w.do(w.request(http.MethodGet, path, "")) }
		plain := get("/v1/models/org/name:tag")
		if want := `{"id":"org/name:tag","object":"model","created":0,"owned_by":"team","context_length":4096,"capabilities":["chat"]}`; plain.body != want {
			t.Errorf("GET answers %s, want %s", plain.body, want)
		}
		for path, status := range map[string]int{
			"/v1/models/org%2Fname%3Atag": 200, "/v1/models/org%252Fname%253Atag": 404, "/v1/models/org": 404, "/v1/models/": 404,
			"/v1/models/org%2F..%2Fname": 404,
		} {
			a := get(path)
			if a.status != status || status == 200 && a.body != plain.body {
				t.Errorf("GET %s answers %d %s", path, a.status, a.body)
			}
		}
		if a := get("/v1/models/nick"); !strings.Contains(a.body, `"id":"nick"`) {
			t.Errorf("the alias answers %s", a.body)
		}
		if a := get("/v1/models/tuned"); !strings.Contains(a.body, `"parent":"org/name:tag"`) {
			t.Errorf("the adapter answers %s", a.body)
		}
		if a := get("/v1/models"); strings.Count(a.body, `"id":`) != 4 {
			t.Errorf("the list is %s", a.body)
		}
		w.keys.Put(storage.Key{ID: w.keyID, Hash: pepper.Hash(w.key), Models: []string{"other"}})
		w.router.ForgetKey(w.keyID)
		if a := get("/v1/models"); strings.Count(a.body, `"id":`) != 1 || !strings.Contains(a.body, `"other"`) {
			t.Errorf("the list for a key of one model is %s", a.body)
		}
		if a := get("/v1/models/nick"); a.status != 404 {
			t.Errorf("a model that the key may not use is answered %d", a.status)
		}
	})
}
