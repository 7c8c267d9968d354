package router_test

import (
	stdcontext "context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

// A request for a model that is being started waits, is counted, and goes out
// the moment a replica is ready.
func TestColdRequestWaits(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		var asked atomic.Int64
		w.fleet.OnAsked = func(m catalog.Name) {
			if m == "m" {
				asked.Add(1)
			}
		}
		got := make(chan answered, 1)
		go func() { got <- w.post(chatPath, strings.Replace(chatBody, `"m"`, `"nick"`, 1)) }()
		wait(t, 3*time.Minute)
		traffic := w.router.Traffic()
		if m := traffic.Models["m"]; m.Waiting != 1 || m.InFlight != 0 || time.Since(m.LastAsked) != 3*time.Minute || asked.Load() != 1 {
			t.Errorf("while it waits the traffic is %+v, and demand was told %d times", traffic, asked.Load())
		}
		ready := time.Now()
		w.one(nil)
		a := <-got
		if a.status != 200 || time.Since(ready) != 0 {
			t.Errorf("answered %d, %s after the replica was ready", a.status, time.Since(ready))
		}
		if row := w.row(); row.Queued != 3*time.Minute || row.Outcome != storage.OutcomeOK {
			t.Errorf("the row has %+v", row)
		}
		if m := w.router.Traffic().Models["m"]; m.Waiting != 0 {
			t.Errorf("the traffic is %+v", m)
		}
	})
}

func TestColdWaitEnds(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		start := time.Now()
		a := w.post(chatPath, chatBody)
		typ, code, message := errorOf(t, a)
		if a.status != 503 || typ != "overloaded_error" || code != "model_not_ready" || !strings.Contains(message, `"m"`) ||
			time.Since(start) != 10*time.Minute || a.header.Get("Retry-After") == "" {
			t.Errorf("after %s answered %d %v %s", time.Since(start), a.status, a.header, a.body)
		}
		if row := w.row(); row.Outcome != storage.OutcomeRefused || len(row.Attempts) != 0 {
			t.Errorf("the row has %+v", row)
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(c *router.Config) { c.Limits.Queue = 3 }, func(w *world) {
		got := make(chan answered, 10)
		for range 3 {
			go func() { got <- w.post(chatPath, chatBody) }()
		}
		synctest.Wait()
		start := time.Now()
		a := w.post(chatPath, chatBody)
		if _, code, _ := errorOf(t, a); a.status != 503 || code != "queue_full" || a.header.Get("Retry-After") == "" || time.Since(start) != 0 {
			t.Errorf("after %s answered %d %v %s", time.Since(start), a.status, a.header, a.body)
		}
		w.one(nil)
		for range 3 {
			if a := <-got; a.status != 200 {
				t.Errorf("a request that waited is answered %d", a.status)
			}
		}
	})
}

// Clients that give up waiting leave nothing waiting behind them
// (kubeai-project/kubeai#9).
func TestWaitingClientGone(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		for range 5 {
			go func() {
				ctx, cancel := stdcontext.WithTimeout(w.t.Context(), time.Minute)
				defer cancel()
				w.do(w.request(http.MethodPost, chatPath, streamBody).WithContext(ctx))
			}()
		}
		wait(t, 30*time.Second)
		if m := w.router.Traffic().Models["m"]; m.Waiting != 5 {
			t.Errorf("the traffic is %+v", m)
		}
		wait(t, 31*time.Second)
		if m := w.router.Traffic().Models["m"]; m.Waiting != 0 || m.InFlight != 0 || time.Since(m.LastAsked) < time.Minute {
			t.Errorf("the traffic is %+v, which was asked for %s ago", m, time.Since(m.LastAsked))
		}
		for _, row := range w.rows() {
			if row.Outcome != storage.OutcomeCancelled || len(row.Attempts) != 0 {
				t.Errorf("a row is %+v", row)
			}
		}
	})
	inWorld(t, nil, func(w *world) {
		ctx, cancel := stdcontext.WithTimeout(w.t.Context(), time.Minute)
		defer cancel()
		w.do(w.request(http.MethodPost, chatPath, streamBody).WithContext(ctx))
		synctest.Wait()
		if m := w.router.Traffic().Models["m"]; m.Waiting != 0 {
			t.Errorf("the traffic is %+v", m)
		}
		if row := w.row(); row.Status != 499 || row.Outcome != storage.OutcomeCancelled || row.Queued != time.Minute {
			t.Errorf("the row has %+v", row)
		}
	})
}

// A model that cannot come is said so at once, by the name that was asked for,
// and no other one ever answers in its place (thushan/olla#191).
func TestModelsThatDoNotCome(t *testing.T) {
	t.Parallel()
	none := 0
	for _, c := range []struct {
		name    string
		model   catalog.Model
		prepare func(w *world)
		status  int
		code    string
	}{
		{"removed", catalog.Model{Name: "x", Profiles: managed()}, nil, 404, "model_not_found"},
		{"off", catalog.Model{Name: "m", Aliases: []catalog.Name{"nick"}, Profiles: managed(), Scaling: &catalog.Scaling{Max: &none}}, nil, 503, "model_off"},
		{"parked", catalog.Model{Name: "m", Aliases: []catalog.Name{"nick"}, Profiles: managed()}, func(w *world) {
			w.fleet.Prospect = func(catalog.Name) (string, bool) { return "it failed to start 5 times", true }
		}, 503, "model_unavailable"},
		{"elsewhere", catalog.Model{Name: "m", Aliases: []catalog.Name{"nick"}, External: &catalog.External{URL: "http://p", Model: "q"}}, nil, 503, "model_unavailable"},
		{"parked while it waits", catalog.Model{Name: "m", Aliases: []catalog.Name{"nick"}, Profiles: managed()}, func(w *world) {
			start := time.Now()
			w.fleet.Prospect = func(catalog.Name) (string, bool) { return "", time.Since(start) > time.Minute }
		}, 503, "model_unavailable"},
		{"removed while it waits", catalog.Model{Name: "m", Aliases: []catalog.Name{"nick"}, Profiles: managed()}, func(w *world) {
			time.AfterFunc(time.Minute, func() { w.catalog.Set() })
		}, 404, "model_not_found"},
	} {
		inWorld(t, nil, func(w *world) {
			other := &routertest.Engine{}
			w.catalog.Set(c.model, catalog.Model{Name: "other", Profiles: managed()})
			w.fleet.Set("other", w.serve("o", other))
			if c.prepare != nil {
				c.prepare(w)
			}
			start := time.Now()
			a := w.post(chatPath, strings.Replace(chatBody, `"m"`, `"nick"`, 1))
			_, code, message := errorOf(t, a)
			if a.status != c.status || code != c.code || !strings.Contains(message, `"nick"`) || time.Since(start) > 2*time.Minute {
				t.Errorf("%s: after %s answered %d %s", c.name, time.Since(start), a.status, a.body)
			}
			if c.status == 503 && a.header.Get("Retry-After") == "" {
				t.Errorf("%s: the client is told no time", c.name)
			}
			if len(other.Calls()) != 0 {
				t.Errorf("%s: another model answered", c.name)
			}
		})
	}
}

// Endpoints that others run are asked once they are known to answer under the
// model's name, and no more when they fail.
func TestStatics(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		good, wrong := &routertest.Engine{Lists: []string{"m"}}, &routertest.Engine{Lists: []string{"another"}}
		bare := &routertest.Engine{}
		stop := w.net.Serve("good:80", good)
		w.serve("wrong", wrong)
		w.serve("bare", bare)
		key := "sk-static"
		w.catalog.Set(catalog.Model{Name: "m", Profiles: []catalog.Profile{{Name: "s", Engine: catalog.EngineStatic, Endpoints: []catalog.Endpoint{
			{URL: "http://good/v1/", Key: &key}, {URL: "http://wrong:1"}, {URL: "http://bare:1"}, {URL: "http://nobody:1"},
		}}}})
		for i := range 10 { // the first one waits for the first probe
			if i == 1 {
				synctest.Wait() // for the probes of the others
			}
			if a := w.post(chatPath, chatBody); a.status != 200 {
				t.Errorf("answered %d %s", a.status, a.body)
			}
			synctest.Wait() // and then all are probed
		}
		if g, b, n := len(good.Calls()), len(bare.Calls()), len(wrong.Calls()); g+b != 10 || g == 0 || b == 0 || n != 0 {
			t.Errorf("good was asked %d times, bare %d, wrong %d", g, b, n)
		}
		if got := good.Calls()[0].Header.Get("Authorization"); got != "Bearer sk-static" || good.Calls()[0].Path != chatPath {
			t.Errorf("the endpoint got the credential %q at %s", got, good.Calls()[0].Path)
		}
		var seen []string
		for _, s := range w.router.Statics() {
			seen = append(seen, fmt.Sprintf("%s %v", s.URL, s.Healthy))
			if !s.Healthy && s.Error == "" || s.Probed.IsZero() {
				t.Errorf("an endpoint is %+v", s)
			}
		}
		if got := strings.Join(seen, ", "); got != "http://bare:1 true, http://good/v1/ true, http://nobody:1 false, http://wrong:1 false" {
			t.Errorf("the endpoints are %s", got)
		}

		stop()
		for range 5 {
			if a := w.post(chatPath, chatBody); a.status != 200 {
				t.Errorf("with one endpoint gone answered %d %s", a.status, a.body)
			}
		}
		wait(t, 15*time.Second)
		if s := w.router.Statics()[1]; s.Healthy {
			t.Errorf("the endpoint that is gone is %+v", s)
		}
		w.catalog.Set(catalog.Model{Name: "m", Profiles: []catalog.Profile{{Name: "s", Engine: catalog.EngineStatic, Endpoints: []catalog.Endpoint{
			{URL: "http://good/v1/", Key: &key},
		}}}})
		wait(t, time.Second)
		a := w.post(chatPath, chatBody)
		if _, code, _ := errorOf(t, a); a.status != 503 || code != "model_unavailable" {
			t.Errorf("without an endpoint answered %d %s", a.status, a.body)
		}
		back := w.net.Serve("good:80", good)
		wait(t, 15*time.Second)
		if a := w.post(chatPath, chatBody); a.status != 200 {
			t.Errorf("with the endpoint back answered %d %s", a.status, a.body)
		}
		back()
		if strings.Contains(w.logs.String(), key) {
			t.Error("the endpoint's key is in the log")
		}
	})
}
