package router_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

const (
	loading  = `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`
	tooLong  = `{"error":{"message":"input (604 tokens) is too large to process. increase the physical batch size","type":"server_error","code":500}}`
	noImage  = `{"error":{"message":"image input is not supported - hint: provide the mmproj","type":"server_error","code":500}}`
	overflow = `{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error","code":400,"n_ctx":256}}`
)

// A replica that fails before the client has seen anything is an attempt in the
// row and nothing else; what the client did wrong is told at once.
func TestRetries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		bad        func(httpWriter, routertest.Call)
		status     int // of the answer with a good replica beside the bad one
		code       string
		attempt    storage.Attempt
	}{
		{"loading", chatBody, routertest.JSON(503, loading), 200, "", storage.Attempt{Status: 503, Error: "status 503"}},
		{"loading, called 500", chatBody, routertest.JSON(500, loading), 200, "", storage.Attempt{Status: 500, Error: "status 500"}},
		{"bad gateway without a body", chatBody, routertest.JSON(502, ``), 200, "", storage.Attempt{Status: 502, Error: "status 502"}},
		{"busy", chatBody, routertest.JSON(429, `{"error":{"message":"busy"}}`), 200, "", storage.Attempt{Status: 429, Error: "status 429"}},
		{"our key is wrong", chatBody, routertest.JSON(401, `{"error":{"message":"Invalid API Key"}}`), 200, "", storage.Attempt{Status: 401, Error: "status 401"}},
		{"cut before the headers", chatBody, func(httpWriter, routertest.Call) { panic(http.ErrAbortHandler) }, 200, "", storage.Attempt{Error: "unreachable"}},
		{"cut in a whole answer", chatBody, func(rw httpWriter, _ routertest.Call) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = rw.Write([]byte(`{"choices":[{"message":{"content":"half`))
			rw.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 200, "", storage.Attempt{Status: 200, Error: "broke off"}},
		{"half of a whole answer", chatBody, routertest.JSON(200, `{"choices":[{"message":{"content":"half`), 200, "", storage.Attempt{Status: 200, Error: "not whole"}},
		{"a page instead of an answer", chatBody, routertest.JSON(200, `<html>half</html>`), 200, "", storage.Attempt{Status: 200, Error: "not whole"}},
		{"cut after the role", streamBody, routertest.Cut(roleEvent), 200, "", storage.Attempt{Status: 200, Error: "broke off"}},
		{"error instead of content", streamBody, routertest.Stream(roleEvent, event(`{"error":{"message":"out of quota","code":429}}`)), 200, "", storage.Attempt{Status: 200, Error: "status 429"}},
		{"dropped before its content", streamBody, routertest.Stream(roleEvent, event(`{"choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}`), doneEvent), 200, "", storage.Attempt{Status: 200, Error: "aborted"}},
		{"dropped", chatBody, routertest.JSON(200, `{"choices":[{"message":{"content":"half"},"finish_reason":"abort"}]}`), 200, "", storage.Attempt{Status: 200, Error: "status 500"}},
		{"error in a good status", chatBody, routertest.JSON(200, `{"error":{"message":"CUDA error"}}`), 200, "", storage.Attempt{Status: 200, Error: "status 500"}},
		{"client's fault", chatBody, routertest.JSON(400, overflow), 400, "context_length_exceeded", storage.Attempt{Status: 400, Error: "status 400"}},
		{"client's fault, called 500", chatBody, routertest.JSON(500, tooLong), 400, "", storage.Attempt{Status: 500, Error: "status 500"}},
		{"image without eyes", chatBody, routertest.JSON(500, noImage), 400, "", storage.Attempt{Status: 500, Error: "status 500"}},
	} {
		inWorld(t, nil, func(w *world) {
			bad, good := &routertest.Engine{Answer: c.bad}, &routertest.Engine{}
			w.fleet.Set("m", w.serve("bad", bad), w.serve("good", good))
			a := w.post(chatPath, c.body)
			if a.status != c.status || a.err != nil || strings.Contains(a.body, "half") {
				t.Errorf("%s: %d %s %v", c.name, a.status, a.body, a.err)
			}
			c.attempt.Replica = "bad"
			want := []storage.Attempt{c.attempt}
			if c.status == 200 {
				want = append(want, storage.Attempt{Replica: "good", Status: 200})
			} else if _, code, _ := errorOf(t, a); code != c.code {
				t.Errorf("%s: the code is %q", c.name, code)
			}
			row := w.row()
			if d := cmp.Diff(want, row.Attempts); d != "" {
				t.Errorf("%s: other attempts:\n%s", c.name, d)
			}
			if c.status == 200 && (row.Outcome != storage.OutcomeOK || row.PromptTokens != 3 || row.CompletionTokens != 1 || row.Replica != "good") {
				t.Errorf("%s: the row has %+v", c.name, row)
			}
			// While it cools down, the bad one is the last choice.
			before := len(bad.Calls())
			w.post(chatPath, chatBody)
			if again := len(bad.Calls()) > before; again && c.status == 200 && c.attempt.Status != 429 {
				t.Errorf("%s: the bad replica was asked again at once", c.name)
			}
		})
	}
}

func TestRetriesHaveAnEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		var all []router.Backend
		var engines []*routertest.Engine
		for i := range 5 {
			e := &routertest.Engine{Answer: func(rw httpWriter, c routertest.Call) {
				rw.Header().Set("Retry-After", "7")
				routertest.JSON(503, loading)(rw, c)
			}}
			engines = append(engines, e)
			all = append(all, w.serve(fmt.Sprint("r", i), e))
		}
		w.fleet.Set("m", all...)
		a := w.post(chatPath, chatBody)
		if typ, _, _ := errorOf(t, a); a.status != 503 || typ != "overloaded_error" || a.header.Get("Retry-After") != "7" {
			t.Errorf("answered %d %v %s", a.status, a.header, a.body)
		}
		row := w.row()
		if len(row.Attempts) != 3 || row.Outcome != storage.OutcomeUpstreamError {
			t.Errorf("the row has %+v", row)
		}
		asked := 0
		for _, e := range engines {
			if n := len(e.Calls()); n > 1 {
				t.Errorf("a replica was asked %d times", n)
			} else {
				asked += n
			}
		}
		if asked != 3 {
			t.Errorf("%d replicas were asked", asked)
		}
	})
}

// A fleet in trouble does not get three times the load.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		bad := func() *routertest.Engine { return &routertest.Engine{Answer: routertest.JSON(503, loading)} }
		a, b := bad(), bad()
		w.fleet.Set("m", w.serve("a", a), w.serve("b", b))
		for range 200 {
			w.post(chatPath, chatBody)
		}
		asked := len(a.Calls()) + len(b.Calls())
		if asked < 200+20 || asked > 200+31 {
			t.Errorf("200 requests were %d", asked)
		}
	})
}

// Two models that stand in for each other are each tried once
// (BerriAI/litellm#7091), and so are all retries bounded (BerriAI/litellm#19985).
func TestFallbacks(t *testing.T) {
	t.Parallel()
	models := func(w *world) {
		w.catalog.Set(
			catalog.Model{Name: "m", Profiles: managed(), Fallbacks: []catalog.Name{"n"}},
			catalog.Model{Name: "n", Profiles: managed(), Fallbacks: []catalog.Name{"m"}},
		)
	}
	for _, c := range []struct {
		status   int
		perModel int
	}{{401, 3}, {503, 3}} {
		inWorld(t, nil, func(w *world) {
			models(w)
			for _, m := range []catalog.Name{"m", "n"} {
				var all []router.Backend
				for i := range 4 {
					all = append(all, w.serve(fmt.Sprint(m, i), &routertest.Engine{Answer: routertest.JSON(c.status, `{"error":{"message":"no"}}`)}))
				}
				w.fleet.Set(m, all...)
			}
			a := w.post(chatPath, chatBody)
			errorOf(t, a)
			row := w.row()
			byModel := map[byte]int{}
			for _, at := range row.Attempts {
				byModel[at.Replica[0]]++
			}
			if a.status < 500 || byModel['m'] != c.perModel || byModel['n'] != c.perModel || row.ServedModel != "n" {
				t.Errorf("status %d: answered %d with the row %+v", c.status, a.status, row)
			}
		})
	}
	inWorld(t, nil, func(w *world) {
		models(w)
		e := &routertest.Engine{}
		w.fleet.Set("m", w.serve("a", &routertest.Engine{Answer: routertest.JSON(500, `{"error":{"message":"no"}}`)}))
		w.fleet.Set("n", w.serve("b", e))
		a := w.post(chatPath, chatBody)
		if row := w.row(); a.status != 200 || row.Model != "m" || row.ServedModel != "n" || !strings.Contains(string(e.Calls()[0].Body), `"model":"n"`) {
			t.Errorf("answered %d with the row %+v", a.status, row)
		}
	})
	inWorld(t, nil, func(w *world) {
		models(w)
		e := &routertest.Engine{}
		w.fleet.Set("m", w.serve("a", &routertest.Engine{Answer: routertest.JSON(400, overflow)}))
		w.fleet.Set("n", w.serve("b", e))
		if a := w.post(chatPath, chatBody); a.status != 400 || len(e.Calls()) != 0 {
			t.Errorf("the client's fault is answered %d, after %d calls elsewhere", a.status, len(e.Calls()))
		}
	})
}

// A replica that hangs holds up nobody else (vllm-project/production-stack#749).
func TestHungReplica(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.catalog.Set(catalog.Model{Name: "m", Profiles: managed()}, catalog.Model{Name: "n", Profiles: managed()})
		hung, good := &routertest.Engine{Answer: routertest.Hang}, &routertest.Engine{}
		w.fleet.Set("m", w.serve("hung", hung))
		w.fleet.Set("n", w.serve("good", good))
		for range 100 {
			go func() { w.post(chatPath, chatBody) }()
		}
		synctest.Wait()
		if n := len(hung.Calls()); n != 100 {
			t.Fatalf("%d requests hang", n)
		}
		start := time.Now()
		for range 200 {
			if a := w.post(chatPath, strings.Replace(chatBody, `"m"`, `"n"`, 1)); a.status != 200 {
				t.Fatalf("answered %d %s", a.status, a.body)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("200 requests beside the hung ones took %s", took)
		}
		if n := w.router.Traffic().Replicas["hung"].InFlight; n != 100 {
			t.Errorf("%d requests are in flight there", n)
		}
		wait(t, 11*time.Minute)
	})
}

// Within one model the hung replica fills up and the other one serves.
func TestHungReplicaOfOneModel(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.fleet.Set("m", w.serve("hung", &routertest.Engine{Answer: routertest.Hang}), w.serve("good", &routertest.Engine{}))
		answered := make(chan int, 200)
		for range 200 {
			go func() { answered <- w.post(chatPath, chatBody).status }()
		}
		synctest.Wait()
		if n := len(answered); n < 100 {
			t.Errorf("only %d of 200 requests were answered", n)
		}
		wait(t, 11*time.Minute)
	})
}

// A replica that dies between requests costs no client anything.
func TestKilledReplica(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		stop := w.net.Serve("a:1", &routertest.Engine{})
		w.fleet.Set("m", router.Backend{ID: "a", Address: "a:1"}, w.serve("b", &routertest.Engine{}))
		for i := range 50 {
			if i == 25 {
				stop()
			}
			if a := w.post(chatPath, chatBody); a.status != 200 {
				t.Errorf("request %d is answered %d %s", i, a.status, a.body)
			}
		}
	})
}

// Load goes where the least of it is, not to those that drain, and to a silent
// node's replica only when there is no other.
func TestChoice(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		engines := map[string]*routertest.Engine{}
		backend := func(id string) router.Backend {
			engines[id] = &routertest.Engine{}
			return w.serve(id, engines[id])
		}
		a, b, drains, silent := backend("a"), backend("b"), backend("drains"), backend("silent")
		drains.Draining, silent.Unreachable = true, true
		w.fleet.Set("m", a, b, drains, silent)
		for range 10 {
			w.post(chatPath, chatBody)
		}
		for id, want := range map[string]int{"a": 5, "b": 5, "drains": 0, "silent": 0} {
			if n := len(engines[id].Calls()); n != want {
				t.Errorf("%s was asked %d times, want %d", id, n, want)
			}
		}
		w.fleet.Set("m", drains, silent)
		if a := w.post(chatPath, chatBody); a.status != 200 || len(engines["silent"].Calls()) != 1 {
			t.Errorf("answered %d after %d calls", a.status, len(engines["silent"].Calls()))
		}
	})
}

// llama-server answers as the model itself to a name that it does not know, so an
// adapter is asked of it by its place, and the client cannot choose another.
func TestAdaptersByPlace(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.catalog.Set(catalog.Model{Name: "m", Profiles: managed(), Adapters: []catalog.Adapter{{Name: "one"}, {Name: "two"}}})
		e := &routertest.Engine{}
		b := w.serve("b", e)
		b.Adapters, b.ByPlace = []catalog.Name{"one", "two"}, true
		w.fleet.Set("m", b)
		w.post(chatPath, strings.Replace(chatBody, `"m"`, `"two","lora":[{"id":0,"scale":1}]`, 1))
		w.post(chatPath, strings.Replace(chatBody, `"m"`, `"m","lora":[{"id":0,"scale":1}]`, 1))
		calls := e.Calls()
		if len(calls) != 2 {
			t.Fatalf("%d calls", len(calls))
		}
		if got := string(calls[0].Body); !strings.Contains(got, `"lora":[{"id":1,"scale":1}]`) || strings.Count(got, "lora") != 1 || !strings.Contains(got, `"model":"m"`) {
			t.Errorf("the adapter is asked for as %s", got)
		}
		if got := string(calls[1].Body); strings.Contains(got, "lora") {
			t.Errorf("the model itself is asked for as %s", got)
		}
	})
}

// An adapter is asked of a replica that has it, under its name.
func TestAdapters(t *testing.T) {
	t.Parallel()
	inWorld(t, func(c *router.Config) { c.Limits.ColdWait = time.Second }, func(w *world) {
		w.catalog.Set(catalog.Model{Name: "m", Profiles: managed(), Adapters: []catalog.Adapter{{Name: "tuned"}, {Name: "unloaded"}}})
		plain, tuned := &routertest.Engine{}, &routertest.Engine{}
		a, b := w.serve("a", plain), w.serve("b", tuned)
		b.Adapters = []catalog.Name{"tuned"}
		w.fleet.Set("m", a, b)
		for range 4 {
			if a := w.post(chatPath, strings.Replace(chatBody, `"m"`, `"tuned"`, 1)); a.status != 200 || !strings.Contains(a.body, `"model":"tuned"`) {
				t.Errorf("answered %d %s", a.status, a.body)
			}
		}
		if a := w.post(chatPath, strings.Replace(chatBody, `"m"`, `"unloaded"`, 1)); a.status != 503 {
			t.Errorf("an adapter that nobody has is answered %d %s", a.status, a.body)
		}
		if len(plain.Calls()) != 0 || len(tuned.Calls()) != 4 {
			t.Errorf("%d calls went to the plain replica, %d to the tuned", len(plain.Calls()), len(tuned.Calls()))
		}
	})
}
