package router

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"llmgw.io/llmgw/catalog"
)

const (
	probeLimit = 2 * time.Second
	probeLeast = 5 * time.Second // between probes, and as much again by chance
	probeTick  = time.Second
)

// Static is one endpoint that others run, as its probes find it.
type Static struct {
	Model catalog.Name
	// ID is the replica's in rows and traffic.
	ID  string
	URL string
	// Healthy endpoints are asked. Probed zero: nobody knows yet.
	Healthy bool
	Probed  time.Time
	// Error is what was wrong at the last probe; empty when all was well.
	Error string
}

// endpointState is one endpoint, kept from one index to the next.
type endpointState struct {
	Static
	key     string
	slots   int
	due     time.Time
	probing bool
}

// statics knows the endpoints of the catalog that others run, and which of them
// answer.
type statics struct {
	models Models
	up     Upstream
	log    *slog.Logger
	kick   chan struct{}

	seen atomic.Pointer[catalog.Index]             // the index that all is made from
	good atomic.Pointer[map[catalog.Name]backends] // read only

	mu     sync.Mutex
	all    map[string]*endpointState // by id
	change chan struct{}
}

type backends struct {
	ready   []Backend
	unknown bool // one was never probed
}

func newStatics(c *Config) *statics {
	s := &statics{
		models: c.Models, up: c.Upstream, log: c.Logger, kick: make(chan struct{}, 1),
		all: map[string]*endpointState{}, change: make(chan struct{}),
	}
	s.good.Store(&map[catalog.Name]backends{})
	return s
}

// of returns the endpoints of a model that answer.
func (s *statics) of(model catalog.Name) []Backend {
	s.refresh()
	return (*s.good.Load())[model].ready
}

// unknown reports whether a model has an endpoint of which nobody knows yet
// whether it answers.
func (s *statics) unknown(model catalog.Name) bool {
	s.refresh()
	return (*s.good.Load())[model].unknown
}

// changed is closed at the next change of any answer.
func (s *statics) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change
}

// Statics returns every endpoint that others run, ordered by model and URL.
func (r *Router) Statics() []Static {
	s := r.statics
	s.refresh()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Static, 0, len(s.all))
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		out = append(out, s.all[id].Static)
	}
	return out
}

// refresh brings the endpoints up to the catalog. It costs a look at a pointer
// where nothing has changed.
func (s *statics) refresh() {
	index := s.models.Index()
	if s.seen.Load() == index {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.Load() == index {
		return
	}
	next := map[string]*endpointState{}
	for i := range index.Entries() {
		for _, e := range endpointsOf(&index.Entries()[i].Model) {
			if old := s.all[e.ID]; old != nil && old.key == e.key && old.slots == e.slots {
				e = old
			}
			next[e.ID] = e
		}
	}
	for id := range s.all {
		if next[id] == nil {
			s.up.Forget(id)
		}
	}
	s.all = next
	s.seen.Store(index)
	s.publish()
	if len(next) > 0 {
		poke(s.kick)
	}
}

func endpointsOf(m *catalog.Model) []*endpointState {
	var out []*endpointState
	for i := range m.Profiles {
		if m.Profiles[i].Managed() {
			continue
		}
		for _, e := range m.Profiles[i].Endpoints {
			st := &endpointState{
				Static: Static{Model: m.Name, URL: e.URL, ID: fmt.Sprintf("static:%s@%s", m.Name, hostOf(e.URL))},
				slots:  m.Profiles[i].Slots,
			}
			if e.Key != nil {
				st.key = *e.Key
			}
			out = append(out, st)
		}
	}
	return out
}

// hostOf is an endpoint's address without its scheme.
func hostOf(url string) string {
	_, rest, ok := strings.Cut(baseURL(url), "://")
	if !ok {
		return url
	}
	return rest
}

// publish makes what requests read.
func (s *statics) publish() {
	good := map[catalog.Name]backends{}
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		e := s.all[id]
		b := good[e.Model]
		switch {
		case e.Healthy:
			b.ready = append(b.ready, Backend{ID: e.ID, Model: string(e.Model), Address: e.URL, Key: e.key, Static: true, Slots: e.slots})
		case e.Probed.IsZero():
			b.unknown = true
		}
		good[e.Model] = b
	}
	s.good.Store(&good)
	close(s.change)
	s.change = make(chan struct{})
}

// failed has an endpoint that failed a request probed at once; the router makes
// it the last choice meanwhile.
func (s *statics) failed(b *Backend) {
	if !b.Static {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.all[b.ID]; e != nil && !e.probing {
		e.due = time.Time{}
		poke(s.kick)
	}
}

// run probes until the context ends.
func (s *statics) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(probeTick)
	defer tick.Stop()
	for {
		s.refresh()
		for _, e := range s.takeDue(time.Now()) {
			wg.Go(func() { s.probed(e, s.probe(ctx, e)) })
		}
		select {
		case <-ctx.Done():
			return
		case <-s.kick:
		case <-tick.C:
		}
	}
}

func (s *statics) takeDue(now time.Time) []*endpointState {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*endpointState
	for _, e := range s.all {
		if !e.probing && !now.Before(e.due) {
			e.probing = true
			e.due = now.Add(probeLeast + rand.N(probeLeast))
			due = append(due, e)
		}
	}
	return due
}

// probed notes what a probe found, and says so when it is news.
func (s *statics) probed(e *endpointState, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := e.Probed.IsZero() || e.Healthy != (err == nil)
	e.probing, e.Probed, e.Healthy, e.Error = false, time.Now(), err == nil, ""
	if err != nil {
		e.Error = scrub(err.Error(), []string{e.key})
	}
	if !news {
		return
	}
	s.publish()
	if err != nil {
		s.log.Warn("an endpoint does not answer as it should; no request is sent there", "model", string(e.Model), "replica", e.ID, "err", e.Error)
		return
	}
	s.log.Info("an endpoint answers", "model", string(e.Model), "replica", e.ID)
}
