package router_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
)

// temper is an engine that answers now so, now otherwise.
type temper struct {
	routertest.Engine
	answer func(httpWriter, routertest.Call)
}

func newTemper(answer func(httpWriter, routertest.Call)) *temper {
	e := &temper{answer: answer}
	e.Answer = func(rw httpWriter, c routertest.Call) { e.answer(rw, c) }
	return e
}

// calls is how many of n requests, a second apart, met the engine.
func (w *world) calls(e *temper, n int) int {
	w.t.Helper()
	before := len(e.Calls())
	for range n {
		if a := w.post(chatPath, chatBody); a.status != 200 {
			w.t.Errorf("answered %d %s", a.status, a.body)
		}
		wait(w.t, time.Second)
	}
	return len(e.Calls()) - before
}

// A replica that fails again and again is put out, comes back by itself when its
// time is over, and gets its share slowly (BerriAI/litellm#30192).
func TestPutOutAndBack(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		bad := newTemper(routertest.JSON(500, `{"error":{"message":"CUDA error"}}`))
		w.fleet.Set("m", w.serve("bad", bad), w.serve("good", &routertest.Engine{}))
		wait(t, time.Minute) // both are warm
		if n := w.calls(bad, 60); n != 5 {
			t.Errorf("it failed %d times before it was put out, and never since", n)
		}
		if !strings.Contains(w.logs.String(), "failed 5 times in a row") {
			t.Error("the log does not say that it is put out")
		}
		bad.answer = routertest.Hello
		if n := w.calls(bad, 15); n != 0 {
			t.Errorf("it was asked %d times at once", n)
		}
		wait(t, 30*time.Second)
		if n := w.calls(bad, 30); n != 15 {
			t.Errorf("it was asked %d times of 30 when it was warm", n)
		}
	})
}

// One that cannot be reached is not tried again and again meanwhile.
func TestUnreachableIsOutAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.fleet.Set("m", router.Backend{ID: "dead", Address: "dead:1"}, w.serve("good", &routertest.Engine{}))
		for range 25 {
			if a := w.post(chatPath, chatBody); a.status != 200 {
				t.Errorf("answered %d %s", a.status, a.body)
			}
			wait(t, time.Second)
		}
		if n := w.net.Dialled("dead:1"); n != 1 {
			t.Errorf("it was dialled %d times", n)
		}
	})
}

// A replica that takes requests and gives nothing gets no more of them, though it
// has the fewest.
func TestSilentReplica(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		var words []string
		for range 60 {
			words = append(words, event(`{"choices":[{"index":0,"delta":{"content":"word "}}]}`))
		}
		silent, busy := newTemper(routertest.Hang), newTemper(routertest.Paced(time.Second, words...))
		a, b := w.serve("silent", silent), w.serve("busy", busy)
		w.fleet.Set("m", a)
		go w.post(chatPath, chatBody)
		synctest.Wait()
		w.fleet.Set("m", b)
		for range 3 {
			go w.post(chatPath, streamBody)
		}
		synctest.Wait()
		w.fleet.Set("m", a, b)
		wait(t, 31*time.Second)
		busy.answer = routertest.Hello
		if a := w.post(chatPath, chatBody); a.status != 200 || len(silent.Calls()) != 1 {
			t.Errorf("answered %d, the silent one was asked %d times", a.status, len(silent.Calls()))
		}
		wait(t, 11*time.Minute)
	})
}

// A replica whose first tokens come far later than its peer's is put out.
func TestSlowReplica(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		after := func(d time.Duration) *temper {
			return newTemper(func(rw httpWriter, c routertest.Call) {
				if routertest.Pause(c, d) {
					routertest.Hello(rw, c)
				}
			})
		}
		slow, fast := after(2*time.Second), after(100*time.Millisecond)
		w.fleet.Set("m", w.serve("slow", slow), w.serve("fast", fast))
		for range 60 {
			w.post(chatPath, streamBody)
		}
		before := len(slow.Calls())
		for range 60 {
			w.post(chatPath, streamBody)
		}
		if n := len(slow.Calls()) - before; before > 32 || n > 8 {
			t.Errorf("the slow one was asked %d times, and %d times after that", before, n)
		}
		if !strings.Contains(w.logs.String(), "gives its first token after 2.") {
			t.Errorf("the log does not say why: %s", w.logs.String())
		}
	})
}

// Who says when to come again is not asked before, and when all have said so the
// client is told (BerriAI/litellm#27823).
func TestRetryAfterIsKept(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"37", time.Date(2000, 1, 1, 0, 0, 37, 0, time.UTC).Format(http.TimeFormat)} {
		inWorld(t, nil, func(w *world) {
			full := func(rw httpWriter, c routertest.Call) {
				rw.Header().Set("Retry-After", value)
				routertest.JSON(429, `{"error":{"message":"slow down"}}`)(rw, c)
			}
			a, b := newTemper(full), newTemper(full)
			w.fleet.Set("m", w.serve("a", a), w.serve("b", b))
			if got := w.post(chatPath, chatBody); got.status != 429 || got.header.Get("Retry-After") != "37" {
				t.Errorf("answered %d with Retry-After %q", got.status, got.header.Get("Retry-After"))
			}
			wait(t, 10*time.Second)
			got := w.post(chatPath, chatBody)
			typ, code, message := errorOf(t, got)
			if typ != "overloaded_error" || code != "all_full" || !strings.Contains(message, "Retry-After") || got.status != 503 {
				t.Errorf("answered %d %s", got.status, got.body)
			}
			if n, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || n < 26 || n > 27 {
				t.Errorf("ten seconds later Retry-After is %q", got.header.Get("Retry-After"))
			}
			if n := len(a.Calls()) + len(b.Calls()); n != 2 {
				t.Errorf("they were asked %d times", n)
			}
			wait(t, 28*time.Second)
			a.answer, b.answer = routertest.Hello, routertest.Hello
			if got := w.post(chatPath, chatBody); got.status != 200 {
				t.Errorf("answered %d %s after the time was over", got.status, got.body)
			}
		})
	}
}

// A client may refuse that another model answers, and the record names who did.
func TestFallbackIsAChoice(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.catalog.Set(
			catalog.Model{Name: "m", Profiles: managed(), Fallbacks: []catalog.Name{"n"}},
			catalog.Model{Name: "n", Profiles: managed()},
		)
		other := &routertest.Engine{}
		w.fleet.Set("m", w.serve("a", &routertest.Engine{Answer: routertest.JSON(500, `{"error":{"message":"no"}}`)}))
		w.fleet.Set("n", w.serve("b", other))
		req := w.request(http.MethodPost, chatPath, chatBody)
		req.Header.Set(router.HeaderFallback, "off")
		if a := w.do(req); a.status < 500 || len(other.Calls()) != 0 {
			t.Errorf("answered %d %s after %d calls elsewhere", a.status, a.body, len(other.Calls()))
		}
		if a := w.post(chatPath, chatBody); a.status != 200 {
			t.Errorf("answered %d %s", a.status, a.body)
		}
		rows := w.rows()
		at := rows[len(rows)-1].Attempts
		if len(at) != 2 || at[0].Model != "" || at[1].Model != "n" || at[1].Replica != "b" {
			t.Errorf("the record names %+v", at)
		}
	})
}

// A provider's error in a stream that has begun well, but has said nothing, is a
// reason for the next model (maximhq/bifrost#5395).
func TestErrorEventFallsBack(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.catalog.Set(
			catalog.Model{Name: "m", Profiles: managed(), Fallbacks: []catalog.Name{"n"}},
			catalog.Model{Name: "n", Profiles: managed()},
		)
		w.fleet.Set("m", w.serve("a", &routertest.Engine{Answer: routertest.Stream(roleEvent, event(`{"error":{"message":"quota","code":"insufficient_quota","type":"insufficient_quota"}}`))}))
		w.fleet.Set("n", w.serve("b", &routertest.Engine{}))
		a := w.post(chatPath, streamBody)
		if row := w.row(); a.status != 200 || strings.Contains(a.body, "quota") || row.ServedModel != "n" {
			t.Errorf("answered %d %s by %q", a.status, a.body, row.ServedModel)
		}
	})
}

// A replica that is gone is asked nothing, though another model has its address
// now (gpustack/gpustack#4063).
func TestReusedAddress(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.catalog.Set(catalog.Model{Name: "m", Profiles: managed()}, catalog.Model{Name: "n", Profiles: managed()})
		stop := w.net.Serve("host:20000", &routertest.Engine{})
		w.fleet.Set("m", router.Backend{ID: "m-1", Address: "host:20000"})
		w.post(chatPath, chatBody)
		stop()
		other := &routertest.Engine{}
		defer w.net.Serve("host:20000", other)()
		w.fleet.Set("m", w.serve("m-2", &routertest.Engine{}))
		w.fleet.Set("n", router.Backend{ID: "n-1", Address: "host:20000"})
		for range 20 {
			if a := w.post(chatPath, chatBody); a.status != 200 {
				t.Errorf("answered %d %s", a.status, a.body)
			}
		}
		if n := len(other.Calls()); n != 0 {
			t.Errorf("the other model's engine was asked %d times for this one", n)
		}
	})
}
