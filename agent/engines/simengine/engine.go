package simengine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Engine is one simulated engine. It is an http.Handler; Run serves it as a process would.
type Engine struct {
	cfg     Config
	log     *slog.Logger
	mux     *http.ServeMux
	readyAt time.Time
	temper  atomic.Pointer[Temper]
	slots   *slots
	cache   *prefixCache
	stats   *stats
	ids     atomic.Int64

	mu       sync.Mutex
	chance   *rand.Rand
	adapters []string
	// settle waits until what was answered is on the wire. It is set by Run, and
	// guarded by mu.
	settle  func()
	flights map[*flight]struct{}
	stops   int
	code    int
	ended   bool

	exited chan struct{} // closed when the engine has ended
	idle   chan struct{} // takes a token when the last request left
}

// New makes an engine. It begins to load at once.
func New(cfg Config) (*Engine, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Root == "" {
		cfg.Root = cfg.Models[0]
	}
	t := cfg.Temper.withDefaults()
	e := &Engine{
		cfg:      cfg,
		log:      cfg.Logger,
		readyAt:  time.Now().Add(time.Duration(t.StartupDuration)),
		slots:    newSlots(t.MaxNumSeqs, t.MaxWaiting),
		cache:    newPrefixCache(t),
		stats:    newStats(),
		chance:   rand.New(rand.NewPCG(cfg.Seed, 1)),
		adapters: slices.Clone(cfg.Adapters),
		flights:  map[*flight]struct{}{},
		exited:   make(chan struct{}),
		idle:     make(chan struct{}, 1),
	}
	e.temper.Store(&t)
	e.mux = e.routes()
	return e, nil
}

// Temper gives how the engine behaves now, with the defaults filled in.
func (e *Engine) Temper() Temper { return *e.temper.Load() }

// SetTemper changes how the engine behaves from the next request on. What concerns starting and the sizes of the cache
// stays as it was.
func (e *Engine) SetTemper(t Temper) error {
	if err := t.Validate(); err != nil {
		return err
	}
	t = t.withDefaults()
	e.temper.Store(&t)
	e.slots.resize(t.MaxNumSeqs, t.MaxWaiting)
	return nil
}

// Counts is what the engine is doing.
type Counts struct {
	// Running and Waiting are requests in a slot and in the queue.
	Running, Waiting int
	// Finished are requests answered whole, and Aborted those whose client left or which were cut.
	Finished, Aborted int64
	// PromptTokens, CachedTokens and GeneratedTokens are sums since the start.
	PromptTokens, CachedTokens, GeneratedTokens int64
}

// Counts gives what the engine is doing now.
func (e *Engine) Counts() Counts {
	c := e.stats.counts()
	c.Running, c.Waiting = e.slots.counts()
	return c
}

func (e *Engine) loaded() bool { return !time.Now().Before(e.readyAt) }

// ServeHTTP serves one request. A connection that the engine cuts ends in a panic with http.ErrAbortHandler, which is
// how net/http wants it.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-e.exited:
		panic(http.ErrAbortHandler)
	default:
	}
	if r.URL.Path == "/health" || r.URL.Path == "/v1/health" {
		e.health(w)
		return
	}
	if !e.loaded() {
		loading.write(w)
		return
	}
	if e.keyed(r.URL.Path) && !e.authorised(r) {
		unauthorised.write(w)
		return
	}
	e.mux.ServeHTTP(w, r)
}

func (e *Engine) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("POST /v1/chat/completions", e.chat)
	m.HandleFunc("POST /v1/completions", e.completions)
	m.HandleFunc("POST /v1/embeddings", e.embeddings)
	m.HandleFunc("GET /v1/models", e.models)
	if !e.cfg.FixedAdapters {
		m.HandleFunc("POST /v1/load_lora_adapter", e.loadAdapter)
		m.HandleFunc("POST /v1/unload_lora_adapter", e.unloadAdapter)
	}
	m.HandleFunc("POST /tokenize", e.tokenize)
	m.HandleFunc("GET /metrics", e.metrics)
	m.HandleFunc("GET /version", e.version)
	m.HandleFunc("GET /admin/config", e.showTemper)
	m.HandleFunc("POST /admin/config", e.changeTemper)
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		if e.cfg.AsVLLM {
			writeJSON(w, http.StatusNotFound, []byte(`{"detail":"Not Found"}`))
			return
		}
		fault{http.StatusNotFound, "NotFoundError", "Not Found"}.write(w)
	})
	return m
}

// flight is one request that is being answered.
type flight struct {
	ctx    context.Context //nolint:containedctx // a flight is one call, and lives as long
	cancel context.CancelCauseFunc
}

// takeOff begins a request; false when the engine takes no more. land ends it.
func (e *Engine) takeOff(ctx context.Context) (*flight, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	stopping := e.stops > 0 && e.Temper().Shutdown != ShutdownHang
	if stopping || e.ended {
		return nil, false
	}
	f := &flight{}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	e.flights[f] = struct{}{}
	if e.stops > 0 {
		f.cancel(errFrozen)
	}
	return f, true
}

func (e *Engine) land(f *flight) {
	f.cancel(nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.flights, f)
	if len(e.flights) == 0 {
		select {
		case e.idle <- struct{}{}:
		default:
		}
	}
}
