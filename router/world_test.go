package router_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

var pepper = storage.Pepper("a pepper for tests")

// world is a router on a network in memory, with what is around it. It lives in
// a bubble of synctest: see inWorld.
type world struct {
	t       *testing.T
	net     routertest.Network
	catalog *routertest.Catalog
	fleet   routertest.Fleet
	keys    routertest.Keys
	books   routertest.Books
	router  *router.Router
	client  *http.Client
	key     string
	keyID   string
	logs    lockedBuffer
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

// inWorld runs a test in a bubble with one model "m" that no replica serves yet.
func inWorld(t *testing.T, edit func(*router.Config), test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, catalog: routertest.NewCatalog(catalog.Model{Name: "m", Aliases: []catalog.Name{"nick"}, Profiles: managed()})}
		w.keyID, w.key = storage.NewKeySecret()
		w.keys.Put(storage.Key{ID: w.keyID, Hash: pepper.Hash(w.key), Project: "p", User: "u"})
		cfg := router.Config{
			Models: w.catalog, Backends: &w.fleet, Prospects: &w.fleet, Demand: &w.fleet, Keys: &w.keys, Pepper: pepper, Usage: &w.books,
			Picker: router.LeastOutstanding{}, // so that a test knows who is asked first
			Dial:   w.net.Dial, Logger: slog.New(slog.NewJSONHandler(&w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), AccessLog: true,
		}
		if edit != nil {
			edit(&cfg)
		}
		w.start(cfg)
		test(w)
	})
}

func managed() []catalog.Profile {
	return []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP}}
}

func (w *world) start(cfg router.Config) {
	w.t.Helper()
	r, err := router.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.router, w.client = r, w.net.Client()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop := w.net.Serve("router:80", r)
	w.t.Cleanup(func() {
		w.client.CloseIdleConnections()
		stop()
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		wait(w.t, shipping) // a server lingers after an answer that cuts the connection
	})
}

// serve puts an engine at an address and returns its replica.
func (w *world) serve(id string, h http.Handler) router.Backend {
	w.t.Cleanup(w.net.Serve(id+":1", h))
	return router.Backend{ID: id, Address: id + ":1", Key: "engine-secret-" + id}
}

// one has a single engine serve the model.
func (w *world) one(answer func(http.ResponseWriter, routertest.Call)) *routertest.Engine {
	e := &routertest.Engine{Answer: answer}
	w.fleet.Set("m", w.serve("r1", e))
	return e
}

// request makes a request with the world's key.
func (w *world) request(method, path, body string) *http.Request {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://router:80"+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.key)
	return req
}

// answered is what a client got.
type answered struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func (w *world) do(req *http.Request) answered {
	w.t.Helper()
	res, err := w.client.Do(req)
	if err != nil {
		return answered{err: err}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answered{status: res.StatusCode, header: res.Header, body: string(b), err: err}
}

func (w *world) post(path, body string) answered {
	w.t.Helper()
	return w.do(w.request(http.MethodPost, path, body))
}

// rows waits for what reaches the store.
func (w *world) rows() []storage.Request {
	w.t.Helper()
	synctest.Wait()
	wait(w.t, shipping)
	return w.books.Rows()
}

// row is the only row there is.
func (w *world) row() storage.Request {
	w.t.Helper()
	rows := w.rows()
	if len(rows) != 1 {
		w.t.Fatalf("there are %d rows, and one was wanted: %+v", len(rows), rows)
	}
	return rows[0]
}

// errorOf reads an error in OpenAI's form.
func errorOf(t *testing.T, a answered) (typ, code, message string) {
	t.Helper()
	var e struct {
		Error *struct {
			Message, Type string
			Code          *string
			Param         *string
		}
	}
	if err := json.Unmarshal([]byte(a.body), &e); err != nil || e.Error == nil {
		t.Fatalf("status %d: %q is no error of the API: %v", a.status, a.body, err)
	}
	if a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Request-Id") == "" {
		t.Errorf("an error has the headers %v", a.header)
	}
	if e.Error.Code != nil {
		code = *e.Error.Code
	}
	return e.Error.Type, code, e.Error.Message
}

const (
	chatBody   = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	streamBody = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	usageBody  = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`

	chatPath       = "/v1/chat/completions"
	completionPath = "/v1/completions"
	embeddingPath  = "/v1/embeddings"
)

type httpWriter = http.ResponseWriter
