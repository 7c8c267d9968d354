package router_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
)

// crowd is an endpoint that others run, and what it sees of us.
type crowd struct {
	routertest.Engine
	now, most atomic.Int64
	mu        sync.Mutex
	order     []string
}

func newCrowd(takes time.Duration) *crowd {
	e := &crowd{}
	e.Lists = []string{"m"}
	e.Answer = func(rw httpWriter, c routertest.Call) {
		n := e.now.Add(1)
		defer e.now.Add(-1)
		if n > e.most.Load() {
			e.most.Store(n)
		}
		e.mu.Lock()
		_, rest, _ := strings.Cut(string(c.Body), `"user":"`)
		user, _, _ := strings.Cut(rest, `"`)
		e.order = append(e.order, user)
		e.mu.Unlock()
		if routertest.Pause(c, takes) {
			routertest.Hello(rw, c)
		}
	}
	return e
}

// limitTo makes the endpoints serve the model, each so many requests at once.
func (w *world) limitTo(slots int, urls ...string) {
	p := catalog.Profile{Name: "s", Engine: catalog.EngineStatic, Slots: slots}
	for _, u := range urls {
		p.Endpoints = append(p.Endpoints, catalog.Endpoint{URL: u})
	}
	w.catalog.Set(catalog.Model{Name: "m", Profiles: []catalog.Profile{p}})
	wait(w.t, 2*time.Second) // they are probed
}

func named(user string) string {
	return strings.Replace(chatBody, `"m"`, `"m","user":"`+user+`"`, 1)
}

// An endpoint that others run is sent no more at once than its profile says, and
// who waits is served in turn.
func TestStaticLimit(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		e := newCrowd(time.Second)
		w.serve("theirs", e)
		w.limitTo(2, "http://theirs:1")
		var all sync.WaitGroup
		for _, user := range strings.Split("abcdefghij", "") {
			all.Go(func() {
				if a := w.post(chatPath, named(user)); a.status != 200 {
					t.Errorf("%s is answered %d %s", user, a.status, a.body)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		for pair := range slices.Chunk(e.order, 2) {
			slices.Sort(pair) // two come at the same moment
		}
		if got := strings.Join(e.order, ""); got != "abcdefghij" || e.most.Load() != 2 {
			t.Errorf("it was asked in the order %s, %d at once", got, e.most.Load())
		}
	})
}

// Two endpoints take twice as many; a place that is free at either is used.
func TestStaticLimitOfTwo(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		slow, quick := newCrowd(10*time.Second), newCrowd(time.Second)
		w.serve("slow", slow)
		w.serve("quick", quick)
		w.limitTo(1, "http://slow:1", "http://quick:1")
		start := time.Now()
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() { w.post(chatPath, chatBody) })
			synctest.Wait()
		}
		all.Wait()
		if took := time.Since(start); took != 10*time.Second || slow.most.Load() != 1 || quick.most.Load() != 1 || len(quick.Calls()) != 5 {
			t.Errorf("six requests took %s; slow %d, quick %d of them", took, len(slow.Calls()), len(quick.Calls()))
		}
	})
}

// Who leaves the line holds up nobody, also when it was its turn at that moment.
func TestLeavingTheLine(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		e := newCrowd(10 * time.Second)
		w.serve("theirs", e)
		w.limitTo(1, "http://theirs:1")
		var all sync.WaitGroup
		post := func(user string, within time.Duration) {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(w.t.Context(), within)
				defer cancel()
				w.do(w.request(http.MethodPost, chatPath, named(user)).WithContext(ctx))
			})
			synctest.Wait()
		}
		post("a", time.Minute)
		post("b", 5*time.Second)
		post("c", 10*time.Second)
		post("d", time.Minute)
		all.Wait()
		got := strings.Replace(strings.Join(e.order, ""), "c", "", 1) // it may just have made it
		if got != "ad" {
			t.Errorf("it was asked by %v", e.order)
		}
		if n := w.router.Traffic().Models["m"].Waiting; n != 0 {
			t.Errorf("%d still wait", n)
		}
		if a := w.post(chatPath, chatBody); a.status != 200 {
			t.Errorf("afterwards it is answered %d %s", a.status, a.body)
		}
	})
}

// Who waits is served by an endpoint that comes up meanwhile, each by its turn.
func TestPlacesThatComeUp(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		slow, late := newCrowd(50*time.Second), newCrowd(time.Second)
		w.serve("slow", slow)
		w.limitTo(2, "http://slow:1", "http://late:1")
		start := time.Now()
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if a := w.post(chatPath, chatBody); a.status != 200 {
					t.Errorf("answered %d %s", a.status, a.body)
				}
			})
			synctest.Wait()
		}
		wait(t, 10*time.Second)
		w.serve("late", late)
		all.Wait()
		if took := time.Since(start); took != 50*time.Second || len(late.Calls()) != 4 || late.most.Load() != 2 {
			t.Errorf("all took %s, %d of them at the endpoint that came up, %d at once", took, len(late.Calls()), late.most.Load())
		}
	})
}

// A wait for a place has an end, and says so.
func TestStaticLimitEnds(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		e := newCrowd(5 * time.Minute)
		w.serve("theirs", e)
		w.limitTo(1, "http://theirs:1")
		go w.post(chatPath, chatBody)
		synctest.Wait()
		start := time.Now()
		a := w.post(chatPath, chatBody)
		typ, code, _ := errorOf(t, a)
		if a.status != 503 || typ != "overloaded_error" || code != "all_busy" || a.header.Get("Retry-After") == "" || time.Since(start) != time.Minute {
			t.Errorf("after %s it is answered %d %s", time.Since(start), a.status, a.body)
		}
		wait(t, 5*time.Minute)
	})
}

// moment is a router.Prospects that sees no hope, and does something first.
type moment struct{ first func() }

func (m *moment) Status(catalog.Name) (string, bool) {
	if m.first != nil {
		m.first()
	}
	return "no node has room", true
}

// A replica that is ready in the moment in which nobody sees hope for one is used.
func TestReadyInTheMoment(t *testing.T) {
	t.Parallel()
	m := &moment{}
	inWorld(t, func(c *router.Config) { c.Prospects = m }, func(w *world) {
		b := w.serve("r1", &routertest.Engine{})
		m.first = func() { w.fleet.Set("m", b) }
		if a := w.post(chatPath, chatBody); a.status != 200 {
			t.Errorf("answered %d %s", a.status, a.body)
		}
	})
}
