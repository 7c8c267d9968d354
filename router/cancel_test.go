package router_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

// A client that goes away is an engine that stops, on every route, before the
// answer has begun and in its middle (BerriAI/litellm#37140, BerriAI/litellm#36123).
func TestClientGone(t *testing.T) {
	t.Parallel()
	half := func(rw httpWriter, c routertest.Call) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"choices":[`)
		rw.(http.Flusher).Flush()
		routertest.Hang(rw, c)
	}
	tokens := func(rw httpWriter, c routertest.Call) {
		routertest.Stream(roleEvent, content("a"), content("b"))(rw, c)
		routertest.Hang(rw, c)
	}
	text := func(rw httpWriter, c routertest.Call) {
		routertest.Stream(event(`{"choices":[{"index":0,"text":"a"}]}`), event(`{"choices":[{"index":0,"text":"b"}]}`))(rw, c)
		routertest.Hang(rw, c)
	}
	const before, within = "before the headers", "in its middle"
	tried := map[string]bool{}
	for _, c := range []struct {
		name, path, body string
		answer           func(httpWriter, routertest.Call)
		tokens           int64
	}{
		{"chat before the headers", chatPath, chatBody, routertest.Hang, 0},
		{"chat in its middle", chatPath, chatBody, half, 0},
		{"chat stream before the headers", chatPath, streamBody, routertest.Hang, 0},
		{"chat stream in its middle", chatPath, streamBody, tokens, 2},
		{"completion before the headers", completionPath, `{"model":"m","prompt":"p"}`, routertest.Hang, 0},
		{"completion in its middle", completionPath, `{"model":"m","prompt":"p"}`, half, 0},
		{"completion stream before the headers", completionPath, `{"model":"m","prompt":"p","stream":true}`, routertest.Hang, 0},
		{"completion stream in its middle", completionPath, `{"model":"m","prompt":"p","stream":true}`, text, 2},
		{"embedding before the headers", embeddingPath, `{"model":"m","input":"i"}`, routertest.Hang, 0},
		{"embedding in its middle", embeddingPath, `{"model":"m","input":"i"}`, half, 0},
	} {
		for _, when := range []string{before, within} {
			tried[c.path+" "+when] = tried[c.path+" "+when] || strings.HasSuffix(c.name, when)
		}
		inWorld(t, nil, func(w *world) {
			e := w.one(c.answer)
			ctx, cancel := context.WithCancel(w.t.Context())
			go func() {
				<-time.After(time.Second)
				cancel()
			}()
			w.do(w.request(http.MethodPost, c.path, c.body).WithContext(ctx))
			synctest.Wait() // no time passes: the engine knows at once
			if e.Cancelled() != 1 {
				t.Errorf("%s: the engine was told to stop %d times", c.name, e.Cancelled())
			}
			for name, m := range w.router.Traffic().Models {
				if m.InFlight != 0 || m.Waiting != 0 {
					t.Errorf("%s: the model %s still has %+v", c.name, name, m)
				}
			}
			if n := w.router.Traffic().Replicas["r1"].InFlight; n != 0 {
				t.Errorf("%s: %d requests are still in flight", c.name, n)
			}
			row := w.row()
			if row.Status != 499 || row.Outcome != storage.OutcomeCancelled || row.CompletionTokens != c.tokens || row.Estimated != (c.tokens > 0) {
				t.Errorf("%s: the row has %+v", c.name, row)
			}
			if len(row.Attempts) != 1 {
				t.Errorf("%s: there were the attempts %+v", c.name, row.Attempts)
			}
		})
	}
	for _, r := range router.Routes() {
		if r.Method == http.MethodPost && (!tried[r.Path+" "+before] || !tried[r.Path+" "+within]) {
			t.Errorf("nobody went away from %s", r.Path)
		}
	}
}

// Many short calls over one connection leave nothing behind
// (kubeai-project/kubeai#22).
func TestNothingIsLeftBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	engine := httptest.NewServer(&routertest.Engine{})
	defer engine.Close()
	var fleet routertest.Fleet
	var books routertest.Books
	var sockets int
	fleet.Set("m", router.Backend{ID: "r1", Address: strings.TrimPrefix(engine.URL, "http://")})
	id, secret := storage.NewKeySecret()
	r, err := router.New(router.Config{
		Models: routertest.NewCatalog(catalog.Model{Name: "m", Profiles: managed()}), Backends: &fleet, Pepper: pepper, Usage: &books,
		Declared: []storage.Key{{ID: id, Hash: pepper.Hash(secret)}},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			sockets++
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(r)
	defer front.Close()
	for i := range 1000 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+embeddingPath, strings.NewReader(`{"model":"m","input":"x"}`))
		req.Header.Set("Authorization", "Bearer "+secret)
		res, err := front.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
			t.Fatalf("call %d: %d %s %v", i, res.StatusCode, b, err)
		}
		res.Body.Close()
	}
	if sockets > 3 {
		t.Errorf("1,000 calls one after the other took %d connections to the engine", sockets)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(books.Rows()); n != 1000 {
		t.Errorf("%s rows are kept", fmt.Sprint(n))
	}
}
