package router

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/router/steer"
)

const (
	sweepEvery = 10 * time.Second
	sweepAfter = time.Minute
)

// Router is the data plane as an http.Handler.
type Router struct {
	cfg      Config
	log      *slog.Logger
	since    time.Time
	door     *door
	ledger   *ledger
	statics  *statics
	replicas replicas
	demands  demands
	retries  *retryBudget
	seen     *instruments
	hasher   steer.Hasher
	// decisions are kept for people to look at.
	decisions decisions
	spans     tracing
	// unknown counts requests without a credential that holds; they leave no row.
	unknown atomic.Int64
}

// New makes a router. It reads the folder of rows written ahead, and starts
// nothing: see Run.
func New(cfg Config) (*Router, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	l, err := newLedger(&cfg)
	if err != nil {
		return nil, err
	}
	seen, err := newInstruments(cfg.MeterProvider)
	if err != nil {
		return nil, err
	}
	r := &Router{
		cfg: cfg, log: cfg.Logger, since: time.Now(), door: newDoor(&cfg), ledger: l, statics: newStatics(&cfg), demands: demands{rules: cfg.Trouble},
		retries: newRetryBudget(), seen: seen, hasher: steer.NewHasher(), spans: newTracing(cfg.TracerProvider),
	}
	return r, r.observe(cfg.MeterProvider)
}

// Run ships rows to the store, probes static endpoints and forgets what is gone,
// until the context ends. Requests may still be served after it: their rows are
// written ahead and shipped at the next start.
func (r *Router) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { r.ledger.run(ctx) })
	wg.Go(func() { r.statics.run(ctx) })
	wg.Go(func() {
		for pause(ctx, sweepEvery) {
			r.sweep(time.Now())
		}
	})
	wg.Wait()
	if u, ok := r.cfg.Upstream.(interface{ CloseIdle() }); ok {
		u.CloseIdle()
	}
	return nil
}

// ForgetKey makes the next request with that key ask the store again. Whoever
// makes or revokes a key in this process calls it, so that the change is at once.
func (r *Router) ForgetKey(id string) { r.door.forget(id) }

// Unauthenticated is the number of requests that were refused for want of a
// good key. They leave no row, so that strangers cannot fill the store.
func (r *Router) Unauthenticated() int64 { return r.unknown.Load() }

// Route is one path that the router answers.
type Route struct {
	Method, Path string
	// Open routes need no key.
	Open bool
}

// Routes lists every route. A path that ends with "/" stands for all below it.
func Routes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: healthPath, Open: true},
		{Method: http.MethodGet, Path: readyPath, Open: true},
		{Method: http.MethodGet, Path: modelsPath},
		{Method: http.MethodGet, Path: modelsPath + "/"},
		{Method: http.MethodPost, Path: string(openai.Chat)},
		{Method: http.MethodPost, Path: string(openai.Completions)},
		{Method: http.MethodPost, Path: string(openai.Embeddings)},
	}
}

const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
	modelsPath = "/v1/models"
)

// Mount registers the router's paths on a mux that takes plain prefixes, as
// http.ServeMux does.
func (r *Router) Mount(mux interface {
	Handle(pattern string, handler http.Handler)
},
) {
	for _, pattern := range []string{healthPath, readyPath, "/v1/"} {
		mux.Handle(pattern, r)
	}
}

// ServeHTTP answers one request.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch path := req.URL.Path; path {
	case string(openai.Chat):
		r.serve(w, req, chat)
	case string(openai.Completions):
		r.serve(w, req, completions)
	case string(openai.Embeddings):
		r.serve(w, req, embeddings)
	case modelsPath:
		r.read(w, req, r.listModels)
	case healthPath:
		r.plain(w, nil)
	case readyPath:
		r.plain(w, r.cfg.Ready)
	default:
		if name, ok := strings.CutPrefix(path, modelsPath+"/"); ok {
			// The path is unescaped once already, so "org%2Fname" and "org/name" are
			// one name here, and "%252F" stays "%2F", which is no name.
			r.read(w, req, func(x *exchange) *failure { return x.getModel(catalog.Name(name)) })
			return
		}
		r.begin(w, req, endpoint{}).stray()
	}
}

// stray answers a path that is none. It needs no key: there is nothing to hide.
func (x *exchange) stray() {
	x.stranger = true
	x.fail(refused(openai.NotFound, "unknown_url", "There is no such path here; the paths are "+strings.Join(paths(), ", ")+"."))
}

func paths() []string {
	var out []string
	for _, r := range Routes() {
		if !strings.HasSuffix(r.Path, "/") && !r.Open {
			out = append(out, r.Path)
		}
	}
	return out
}

// plain answers probes of load balancers.
func (r *Router) plain(w http.ResponseWriter, ready func() error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Request-Id", newRequestID(time.Now()))
	var out client
	out.init(w)
	if ready != nil {
		if err := ready(); err != nil {
			out.send(http.StatusServiceUnavailable, []byte(err.Error()+"\n"))
			return
		}
	}
	out.send(http.StatusOK, []byte("ok\n"))
}
