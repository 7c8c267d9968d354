package router_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

func event(data string) string { return "data: " + data + "\n\n" }

func content(text string) string {
	return event(`{"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}`)
}

const (
	roleEvent  = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n"
	stopEvent  = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	usageEvent = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":3,\"total_tokens\":8}}\n\n"
	doneEvent  = "data: [DONE]\n\n"
)

// Letters of two, three and four bytes are cut at each byte within, in content
// and in a tool's arguments, also three times at once (ollama/ollama-js#255).
func TestLettersInPieces(t *testing.T) {
	t.Parallel()
	const letters = "é語😀"
	tool := `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":\"` + letters + `\"}"}}]},"finish_reason":null}]}`
	b := newBare(t)
	for _, ev := range []string{content(letters), event(tool)} {
		whole := ev + stopEvent + doneEvent
		at := strings.Index(whole, letters)
		cuts := [][]int{{at + 1, at + 3, at + 6}, {at + 1, at + 2, at + 3, at + 4, at + 5, at + 6, at + 7, at + 8}}
		for i := range letters {
			cuts = append(cuts, []int{at + i}, []int{at + i + 1})
		}
		for _, cut := range cuts {
			var pieces [][]byte
			from := 0
			for _, to := range append(cut, len(whole)) {
				pieces = append(pieces, []byte(whole[from:to]))
				from = to
			}
			if got := string(b.stream(t, chatPath, streamBody, pieces...)); got != whole {
				t.Errorf("cut at %v the client got\n%q\nwant\n%q", cut, got, whole)
			}
		}
	}
}

// The usage event that only the router asked for stays with it, and the client
// that asked gets exactly one, as the engine made it (BerriAI/litellm#28735).
func TestUsageEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		shown      bool
	}{{"asked", usageBody, true}, {"not asked", streamBody, false}} {
		inWorld(t, nil, func(w *world) {
			e := w.one(routertest.Stream(roleEvent, content("a"), content("b"), stopEvent, usageEvent, doneEvent))
			a := w.post(chatPath, c.body)
			want := roleEvent + content("a") + content("b") + stopEvent + doneEvent
			if c.shown {
				want = roleEvent + content("a") + content("b") + stopEvent + usageEvent + doneEvent
			}
			if a.body != want {
				t.Errorf("%s: the client got\n%s", c.name, a.body)
			}
			if !bytes.Contains(e.Calls()[0].Body, []byte(`"include_usage":true`)) {
				t.Errorf("%s: the engine was not asked for usage: %s", c.name, e.Calls()[0].Body)
			}
			if row := w.row(); row.PromptTokens != 5 || row.CompletionTokens != 3 || row.Estimated || !row.Stream {
				t.Errorf("%s: the row has %+v", c.name, row)
			}
		})
	}
}

// An endpoint that knows no stream_options refuses a field that the client never
// sent. It is asked again without it, and what the stream cost is a guess. A
// client that asked for it is told.
func TestUsageThatMayNotBeAskedFor(t *testing.T) {
	t.Parallel()
	strict := func(rw http.ResponseWriter, c routertest.Call) {
		if bytes.Contains(c.Body, []byte("stream_options")) {
			routertest.JSON(422, `{"error":{"message":"Extra inputs are not permitted: stream_options","type":"invalid_request_error"}}`)(rw, c)
			return
		}
		routertest.Stream(roleEvent, content("a"), content("b"), stopEvent, doneEvent)(rw, c)
	}
	inWorld(t, nil, func(w *world) {
		e := w.one(strict)
		if a := w.post(chatPath, streamBody); a.status != 200 || a.body != roleEvent+content("a")+content("b")+stopEvent+doneEvent {
			t.Errorf("answered %d %s", a.status, a.body)
		}
		if calls := e.Calls(); len(calls) != 2 || string(calls[1].Body) != streamBody {
			t.Errorf("there were %d calls", len(calls))
		}
		if row := w.row(); row.Outcome != storage.OutcomeOK || !row.Estimated || row.CompletionTokens != 2 || len(row.Attempts) != 2 {
			t.Errorf("the row has %+v", row)
		}
	})
	inWorld(t, nil, func(w *world) {
		e := w.one(strict)
		if a := w.post(chatPath, usageBody); a.status != 400 || len(e.Calls()) != 1 {
			t.Errorf("after %d calls answered %d %s", len(e.Calls()), a.status, a.body)
		}
	})
	inWorld(t, nil, func(w *world) {
		// Another fault that names it does not lead to more than one more try.
		e := w.one(routertest.JSON(400, `{"error":{"message":"temperature is no \"stream_options\""}}`))
		if a := w.post(chatPath, streamBody); a.status != 400 || len(e.Calls()) != 2 {
			t.Errorf("after %d calls answered %d %s", len(e.Calls()), a.status, a.body)
		}
	})
	inWorld(t, nil, func(w *world) {
		// The next model is asked for usage again.
		w.catalog.Set(catalog.Model{Name: "m", Profiles: managed(), Fallbacks: []catalog.Name{"n"}}, catalog.Model{Name: "n", Profiles: managed()})
		good := &routertest.Engine{}
		w.fleet.Set("m", w.serve("r1", &routertest.Engine{Answer: func(rw http.ResponseWriter, c routertest.Call) {
			if bytes.Contains(c.Body, []byte("stream_options")) {
				strict(rw, c)
				return
			}
			routertest.JSON(503, loading)(rw, c)
		}}))
		w.fleet.Set("n", w.serve("r2", good))
		if a := w.post(chatPath, streamBody); a.status != 200 || !bytes.Contains(good.Calls()[0].Body, []byte(`"include_usage":true`)) {
			t.Errorf("answered %d %s", a.status, a.body)
		}
		if row := w.row(); row.Estimated {
			t.Errorf("the row has %+v", row)
		}
	})
}

// Usage is found however it meets the end mark, and is an estimate, never a
// zero, where there is none (kubernetes-sigs/gateway-api-inference-extension#1626).
func TestUsageAndEndMark(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		pieces []string
		tokens int64
		guess  bool
	}{
		{"apart", []string{content("a"), content("b"), stopEvent, usageEvent, doneEvent}, 3, false},
		{"together", []string{content("a"), content("b"), stopEvent, usageEvent + doneEvent}, 3, false},
		{"without", []string{content("a"), content("b"), stopEvent, doneEvent}, 2, true},
	} {
		inWorld(t, nil, func(w *world) {
			w.one(routertest.Paced(50*time.Millisecond, c.pieces...))
			w.post(chatPath, streamBody)
			if row := w.row(); row.CompletionTokens != c.tokens || row.Estimated != c.guess || row.PromptTokens == 0 {
				t.Errorf("%s: the row has %+v", c.name, row)
			}
		})
	}
}

// Each event reaches the client before the next one is made (thushan/olla#40).
func TestEventsAreNotBunched(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		const gap = 20 * time.Millisecond
		pieces := []string{}
		for i := range 100 {
			pieces = append(pieces, content(fmt.Sprint(i)))
		}
		w.one(routertest.Paced(gap, append(pieces, doneEvent)...))
		start := time.Now()
		res, err := w.client.Do(w.request(http.MethodPost, chatPath, streamBody))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		buf := make([]byte, 64<<10)
		for i, want := range pieces {
			n, err := res.Body.Read(buf)
			if string(buf[:n]) != want || err != nil {
				t.Fatalf("event %d came as %q: %v", i, buf[:n], err)
			}
			if at := time.Since(start); at != time.Duration(i+1)*gap {
				t.Fatalf("event %d came after %s", i, at)
			}
		}
	})
}

// An engine's comments stay comments and are no first token
// (mnfst/llm-gateway#2053).
func TestEngineComments(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		pieces := []string{}
		for range 10 {
			pieces = append(pieces, ": processing\n\n")
		}
		w.one(routertest.Paced(200*time.Millisecond, append(pieces, content("a"), stopEvent, usageEvent, doneEvent)...))
		a := w.post(chatPath, streamBody)
		want := strings.Repeat(": processing\n\n", 10) + content("a") + stopEvent + doneEvent
		if a.body != want {
			t.Errorf("the client got\n%s", a.body)
		}
		if row := w.row(); row.FirstByte != 2200*time.Millisecond {
			t.Errorf("the first token is counted after %s", row.FirstByte)
		}
	})
}

// A replica that breaks off is never taken for one that stopped
// (BerriAI/litellm#33404).
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answer  func(http.ResponseWriter, routertest.Call)
		outcome storage.Outcome
		status  int
		tokens  int64
	}{
		{"in the middle", routertest.Cut(roleEvent, content("a"), content("b"), content("c"), content("d"), content("e")), storage.OutcomeUpstreamAborted, 200, 5},
		{"in the middle of an event", routertest.Cut(roleEvent, content("a"), `data: {"choi`), storage.OutcomeUpstreamAborted, 200, 1},
		{"clean end without an end", routertest.Stream(roleEvent, content("a")), storage.OutcomeUpstreamAborted, 200, 1},
		{"clean end within an event", routertest.Stream(roleEvent, content("a"), strings.TrimSuffix(stopEvent, "\n\n")), storage.OutcomeUpstreamAborted, 200, 1},
		{"error event in the middle", routertest.Stream(roleEvent, content("a"), event(`{"error":{"message":"CUDA error","code":500}}`), doneEvent), storage.OutcomeUpstreamAborted, 200, 1},
		{"dropped by its engine", routertest.Stream(roleEvent, content("a"), event(`{"choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}`), usageEvent, doneEvent), storage.OutcomeUpstreamAborted, 200, 1},
		{"clean end, with finish reasons that are none", routertest.Stream(event(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":""}]}`)), storage.OutcomeUpstreamAborted, 200, 1},
		{"one choice ended of two", routertest.Stream(roleEvent, content("a"), stopEvent), storage.OutcomeUpstreamAborted, 200, 1},
		{"after the headers", routertest.Cut(), storage.OutcomeUpstreamError, 502, 0},
		{"after the role", routertest.Cut(roleEvent), storage.OutcomeUpstreamError, 502, 0},
	} {
		inWorld(t, nil, func(w *world) {
			w.one(c.answer)
			body := streamBody
			if strings.HasPrefix(c.name, "one choice") {
				body = strings.Replace(body, "{", `{"n":2,`, 1)
			}
			a := w.post(chatPath, body)
			if a.err != nil || a.status != c.status {
				t.Errorf("%s: status %d, %v", c.name, a.status, a.err)
			}
			if strings.Contains(a.body, "[DONE]") || strings.Count(a.body, `"stop"`) != strings.Count(body, `"n":2`) {
				t.Errorf("%s: an end was made up:\n%s", c.name, a.body)
			}
			if c.status == 200 {
				events := routertest.Events(a.body)
				if last := events[len(events)-1]; !strings.HasPrefix(last, `data: {"error":{`) || !strings.HasSuffix(last, "\n\n") {
					t.Errorf("%s: the last event is %q", c.name, last)
				}
			}
			row := w.row()
			if row.Outcome != c.outcome || row.CompletionTokens != c.tokens || row.Estimated != (c.tokens > 0) || row.Status != c.status {
				t.Errorf("%s: the row has %+v", c.name, row)
			}
		})
	}
}

// A long event passes whole; one that is longer than the cap ends its stream with
// an error, and what came before it is kept.
func TestLongEvents(t *testing.T) {
	t.Parallel()
	long, tooLong := content(strings.Repeat("word ", 1<<20)), content(strings.Repeat("word ", 1<<21))
	inWorld(t, nil, func(w *world) {
		e := w.one(routertest.Stream(content("a"), long, stopEvent, usageEvent, doneEvent))
		if a := w.post(chatPath, streamBody); a.body != content("a")+long+stopEvent+doneEvent {
			t.Errorf("a stream of %d bytes came as %d", len(long), len(a.body))
		}
		e.Answer = routertest.Stream(content("a"), tooLong, stopEvent, usageEvent, doneEvent)
		a := w.post(chatPath, streamBody)
		if rest, ok := strings.CutPrefix(a.body, content("a")); !ok || !strings.HasPrefix(rest, `data: {"error":{`) || len(rest) > 1000 {
			t.Errorf("an event that is too long came as %d bytes", len(a.body))
		}
		rows := w.rows()
		if len(rows) != 2 || rows[0].CompletionTokens != 3 || rows[1].CompletionTokens != 1 || rows[1].Outcome != storage.OutcomeUpstreamAborted {
			t.Errorf("the rows are %+v", rows)
		}
	})
}

// A stream may end without an end mark when its choice has ended.
func TestStreamWithoutEndMark(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.one(routertest.Stream(content("a"), stopEvent))
		if a := w.post(chatPath, streamBody); a.body != content("a")+stopEvent {
			t.Errorf("the client got\n%s", a.body)
		}
		if row := w.row(); row.Outcome != storage.OutcomeOK {
			t.Errorf("the row has %+v", row)
		}
	})
}

// Streams flow at once whatever a client can unpack: the engine is asked for
// plain bytes (Portkey-AI/gateway#1261).
func TestStreamsAreNotCompressed(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		e := w.one(nil)
		req := w.request(http.MethodPost, chatPath, streamBody)
		req.Header.Set("Accept-Encoding", "gzip, br")
		a := w.do(req)
		if a.header.Get("Content-Encoding") != "" || !strings.HasPrefix(a.body, "data: ") {
			t.Errorf("the client got %v %q", a.header, a.body)
		}
		if got := e.Calls()[0].Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("the engine was asked for %q", got)
		}
	})
}
