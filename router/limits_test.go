package router_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

// A long prefill is served, and its client hears that it is not forgotten
// (gpustack/gpustack#4725).
func TestLongPrefill(t *testing.T) {
	t.Parallel()
	for _, silence := range []time.Duration{45 * time.Second, 300 * time.Second} {
		inWorld(t, nil, func(w *world) {
			w.one(func(rw httpWriter, c routertest.Call) {
				routertest.Paced(silence, content("a"))(rw, c)
				_, _ = rw.Write([]byte(stopEvent + doneEvent))
			})
			a := w.post(chatPath, streamBody)
			beats := int(silence/(15*time.Second)) - 1 // the last one falls together with the token
			got := strings.Count(a.body, ": waiting\n\n")
			if got < beats || got > beats+1 || strings.ReplaceAll(a.body, ": waiting\n\n", "") != content("a")+stopEvent+doneEvent {
				t.Errorf("after %s the client got\n%s", silence, a.body)
			}
			if row := w.row(); row.Outcome != storage.OutcomeOK || row.FirstByte != silence || row.CompletionTokens != 1 {
				t.Errorf("after %s the row has %+v", silence, row)
			}
		})
	}
}

// A client hears that it is not forgotten also while its model is being started,
// and while an engine sends no header before its first token. What goes wrong
// then is told as an event, since the status is spent.
func TestHeartbeatsBeforeTheHeader(t *testing.T) {
	t.Parallel()
	const beat = ": waiting\n\n"
	late := func(answer func(http.ResponseWriter, routertest.Call)) func(http.ResponseWriter, routertest.Call) {
		return func(rw http.ResponseWriter, c routertest.Call) {
			if routertest.Pause(c, 40*time.Second) {
				answer(rw, c)
			}
		}
	}
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter, routertest.Call)
		want   string
		status int
	}{
		{"late", late(routertest.Stream(content("a"), stopEvent, doneEvent)), beat + beat + content("a") + stopEvent + doneEvent, 200},
		{"refused late", late(routertest.JSON(400, overflow)), beat + beat + event(`{"error":{"message":"the request exceeds the available context size","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}`), 200},
		{"refused at once", routertest.JSON(400, overflow), "", 400},
		{"no stream, at once", func(rw http.ResponseWriter, c routertest.Call) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = rw.Write([]byte(`{"choices":[`))
			rw.(http.Flusher).Flush()
			routertest.Pause(c, 40*time.Second)
			_, _ = rw.Write([]byte(`]}`))
		}, `{"choices":[]}`, 200},
	} {
		inWorld(t, func(c *router.Config) { c.Limits.Retries = -1 }, func(w *world) {
			w.one(c.answer)
			a := w.post(chatPath, streamBody)
			if a.status != c.status || c.want != "" && a.body != c.want || a.err != nil {
				t.Errorf("%s: %d %v\n%s", c.name, a.status, a.err, a.body)
			}
		})
	}
	inWorld(t, nil, func(w *world) {
		time.AfterFunc(40*time.Second, func() { w.one(nil) })
		a := w.post(chatPath, streamBody)
		if rest, ok := strings.CutPrefix(a.body, beat+beat); !ok || !strings.HasPrefix(rest, "data: ") || !strings.HasSuffix(rest, doneEvent) {
			t.Errorf("the client of a cold model got\n%s", a.body)
		}
		if row := w.row(); row.Outcome != storage.OutcomeOK || row.Queued != 40*time.Second {
			t.Errorf("the row has %+v", row)
		}
	})
	inWorld(t, nil, func(w *world) {
		time.AfterFunc(20*time.Second, func() { w.catalog.Set() })
		a := w.post(chatPath, streamBody)
		if !strings.HasPrefix(a.body, beat+`data: {"error":{`) || !strings.Contains(a.body, `"model_not_found"`) || a.status != 200 {
			t.Errorf("the client of a model that was removed got %d\n%s", a.status, a.body)
		}
		if row := w.row(); row.Outcome != storage.OutcomeRefused || row.Status != 200 {
			t.Errorf("the row has %+v", row)
		}
	})
}

// Between two pieces of a tool call, of which its parser holds some back, an
// engine may be silent for longer than between tokens; the client hears comments,
// and they count for nothing (maximhq/bifrost#2786).
func TestSilenceWithinAToolCall(t *testing.T) {
	t.Parallel()
	call := func(args string) string {
		return event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + args + `"}}]},"finish_reason":null}]}`)
	}
	inWorld(t, nil, func(w *world) {
		w.one(func(rw http.ResponseWriter, c routertest.Call) {
			routertest.Stream(roleEvent, call("{"))(rw, c)
			routertest.Paced(130*time.Second, call("}"))(rw, c)
			routertest.Stream(stopEvent, usageEvent, doneEvent)(rw, c)
		})
		start := time.Now()
		a := w.post(chatPath, usageBody)
		if took := time.Since(start); took != 130*time.Second || a.err != nil {
			t.Errorf("after %s: %v", took, a.err)
		}
		if want := roleEvent + call("{") + strings.Repeat(": waiting\n\n", 8) + call("}") + stopEvent + usageEvent + doneEvent; a.body != want {
			t.Errorf("the client got\n%s", a.body)
		}
		if row := w.row(); row.Outcome != storage.OutcomeOK || row.CompletionTokens != 3 || row.Estimated {
			t.Errorf("the row has %+v", row)
		}
	})
	inWorld(t, nil, func(w *world) {
		w.one(func(rw http.ResponseWriter, c routertest.Call) {
			routertest.Stream(call("{"))(rw, c)
			routertest.Hang(rw, c)
		})
		start := time.Now()
		a := w.post(chatPath, streamBody)
		if took := time.Since(start); took != 10*time.Minute || !strings.Contains(a.body, `"code":"timeout"`) {
			t.Errorf("a call that is never ended: after %s\n%s", took, a.body)
		}
	})
}

// Comments come between events only, and not while there is traffic.
func TestHeartbeatsBetweenEvents(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		half := len(content("b")) / 2
		w.one(func(rw httpWriter, c routertest.Call) {
			routertest.Paced(10*time.Second, content("a"), content("a"), content("a"))(rw, c)
			routertest.Paced(40*time.Second, content("b")[:half], content("b")[half:]+stopEvent+doneEvent)(rw, c)
		})
		a := w.post(chatPath, streamBody)
		const beat = ": waiting\n\n"
		if want := content("a") + content("a") + content("a") + strings.Repeat(beat, 5) + content("b") + stopEvent + doneEvent; a.body != want {
			t.Errorf("the client got\n%s", a.body)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		answer     func(httpWriter, routertest.Call)
		after      time.Duration
		status     int
		why        string
		outcome    storage.Outcome
	}{
		{"no answer", chatBody, routertest.Hang, 10 * time.Minute, 504, "timeout", storage.OutcomeUpstreamError},
		{"no token", streamBody, routertest.Paced(time.Hour, content("a")), 10 * time.Minute, 200, "timeout", storage.OutcomeUpstreamError},
		{"engine that only pings", streamBody, routertest.Paced(time.Minute, strings.Split(strings.Repeat(":\n\n,", 30), ",")...), 10 * time.Minute, 200, "timeout", storage.OutcomeUpstreamError},
		{"silence", streamBody, func(rw httpWriter, call routertest.Call) {
			routertest.Stream(content("a"))(rw, call)
			routertest.Hang(rw, call)
		}, 2 * time.Minute, 200, "idle", storage.OutcomeUpstreamAborted},
		{"no end", streamBody, func(rw httpWriter, call routertest.Call) {
			for routertest.Pause(call, time.Minute) {
				routertest.Stream(content("a"))(rw, call)
			}
		}, time.Hour, 200, "total", storage.OutcomeUpstreamAborted},
	} {
		inWorld(t, nil, func(w *world) {
			e := w.one(c.answer)
			start := time.Now()
			a := w.post(chatPath, c.body)
			if took := time.Since(start); took != c.after || a.status != c.status || a.err != nil {
				t.Errorf("%s: status %d after %s, %v", c.name, a.status, took, a.err)
			}
			if c.status == 200 {
				events := routertest.Events(a.body)
				if last := events[len(events)-1]; !strings.Contains(last, `"error"`) {
					t.Errorf("%s: the last event is %q", c.name, last)
				}
			} else {
				errorOf(t, a)
			}
			row := w.row()
			if row.Outcome != c.outcome || row.Attempts[0].Error != c.why || len(row.Attempts) != 1 {
				t.Errorf("%s: the row has %+v", c.name, row)
			}
			if e.Cancelled() != 1 {
				t.Errorf("%s: the engine was told to stop %d times", c.name, e.Cancelled())
			}
		})
	}
}

// An engine that does not end a stream after its end mark holds up nobody.
func TestStreamThatStaysOpen(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.one(func(rw httpWriter, c routertest.Call) {
			routertest.Stream(content("a"), stopEvent, doneEvent)(rw, c)
			routertest.Hang(rw, c)
		})
		start := time.Now()
		a := w.post(chatPath, streamBody)
		if took := time.Since(start); took > 5*time.Second || a.body != content("a")+stopEvent+doneEvent || a.err != nil {
			t.Errorf("after %s the client got %v\n%s", took, a.err, a.body)
		}
		if row := w.row(); row.Outcome != storage.OutcomeOK || row.Latency > time.Second {
			t.Errorf("the row has %+v", row)
		}
	})
}
