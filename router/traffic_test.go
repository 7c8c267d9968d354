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
