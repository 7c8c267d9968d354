package router_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
)

// What is in flight is counted while it is, and what is gone is forgotten.
func TestTraffic(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.one(routertest.Paced(time.Second, content("a"), stopEvent, doneEvent))
		since := w.router.Traffic().Since
		go func() { w.post(chatPath, streamBody) }()
		synctest.Wait()
		got := w.router.Traffic()
		if m, r := got.Models["m"], got.Replicas["r1"]; m.InFlight != 1 || m.Waiting != 0 || r.InFlight != 1 || got.Since != since {
			t.Errorf("in the middle the traffic is %+v", got)
		}
		wait(t, 10*time.Second)
		got = w.router.Traffic()
		if m, r := got.Models["m"], got.Replicas["r1"]; m.InFlight != 0 || r.InFlight != 0 || r.LastUsed.Sub(m.LastAsked) != 3*time.Second {
			t.Errorf("at the end the traffic is %+v", got)
		}
		w.fleet.Set("m")
		w.catalog.Set(catalog.Model{Name: "n"})
		wait(t, 2*time.Minute)
		if got := w.router.Traffic(); len(got.Models)+len(got.Replicas) != 0 {
			t.Errorf("what is gone is still there: %+v", got)
		}
	})
}

// turns asks one replica after the other.
type turns struct{}

func (turns) Pick(c []router.Candidate, ask router.Ask) int { return int(ask.Turn % uint64(len(c))) }

// Of a replica that answered enough it is told how quick it is beside the others.
func TestTrafficSaysWhoIsSlow(t *testing.T) {
	t.Parallel()
	inWorld(t, func(c *router.Config) { c.Picker = turns{} }, func(w *world) {
		answer := func(gap time.Duration) *routertest.Engine {
			return &routertest.Engine{Answer: routertest.Paced(gap, content("a"), stopEvent, doneEvent)}
		}
		w.fleet.Set("m", w.serve("r1", answer(time.Second)), w.serve("r2", answer(1500*time.Millisecond)))
		for i := range 160 {
			if i == 100 {
				if got := w.router.Traffic().Replicas; got["r1"].Slowness != 0 || got["r2"].Slowness != 0 {
					t.Errorf("of replicas that answered 50 requests each it is said %+v", got)
				}
			}
			w.post(chatPath, streamBody)
		}
		got := w.router.Traffic().Replicas
		if r := got["r2"].Slowness / got["r1"].Slowness; !(r > 1.3 && r < 1.6) {
			t.Errorf("one takes half as long again as the other, and it is said %+v", got)
		}
	})
}

// A router stands in a mux of one's own.
func TestMount(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.one(nil)
		mux := http.NewServeMux()
		w.router.Mount(mux)
		mux.HandleFunc("/", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusTeapot) })
		defer w.net.Serve("router:80", mux)()
		for _, route := range router.Routes() {
			path := route.Path
			if path[len(path)-1] == '/' {
				path += "org/name"
			}
			if a := w.do(w.request(route.Method, path, "")); a.status == http.StatusTeapot {
				t.Errorf("%s %s did not reach the router", route.Method, path)
			}
		}
		if a := w.do(w.request(http.MethodGet, "/mine", "")); a.status != http.StatusTeapot {
			t.Errorf("a path of one's own is answered %d", a.status)
		}
		w.client.CloseIdleConnections()
	})
}
