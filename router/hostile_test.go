package router_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

// raw answers with bytes of its own, over and over while again says so, and then
// keeps the connection open until the router closes it.
func raw(first, again string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, err = io.WriteString(conn, first)
		for err == nil && again != "" {
			_, err = io.WriteString(conn, again)
		}
		_, _ = io.Copy(io.Discard, conn)
	}
}

// What an engine sends that breaks every rule costs its request and nothing
// else: no memory without end, no connection that stays, no byte to the client.
func TestHostileEngines(t *testing.T) {
	t.Parallel()
	const (
		ok     = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		whole  = `{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}`
	)
	for _, c := range []struct{ name, body, first, again, why string }{
		{"endless headers", chatBody, ok, "X-More: " + strings.Repeat("x", 1000) + "\r\n", "unreachable"},
		{"an endless header", chatBody, ok + "X-More: ", strings.Repeat("x", 1000), "unreachable"},
		{"hints without end", chatBody, "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", "unreachable"},
		{"another protocol", chatBody, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "", "unreachable"},
		{"no HTTP", chatBody, "hello\r\n", "hello\r\n", "unreachable"},
		{"two lengths", chatBody, ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "", "unreachable"},
		{"less than the length", chatBody, ok + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(whole)-1, whole), "", "not whole"},
		{"compressed", chatBody, ok + fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(whole), whole), "", "encoded"},
		{"a compressed stream", streamBody, events + "Content-Encoding: gzip\r\n\r\n", "\x1f\x8b" + strings.Repeat("\x00\n\n", 1000), "encoded"},
		{"an endless line", streamBody, events + "\r\ndata: ", strings.Repeat("x", 64<<10), "event too large"},
	} {
		inWorld(t, nil, func(w *world) {
			w.fleet.Set("m", w.serve("r1", raw(c.first, c.again)))
			a := w.post(chatPath, c.body)
			if a.status != http.StatusBadGateway || a.err != nil {
				t.Errorf("%s: %d %s, %v", c.name, a.status, a.body, a.err)
			}
			if row := w.row(); row.Outcome != storage.OutcomeUpstreamError || row.Attempts[0].Error != c.why {
				t.Errorf("%s: the row has %+v", c.name, row)
			}
		})
	}
}

// An engine that goes on after its end mark is cut off as one is that says
// nothing more: what comes then is no answer, and is not in the books.
func TestStreamThatGoesOnAfterItsEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.one(func(rw httpWriter, c routertest.Call) {
			routertest.Stream(content("a"), stopEvent, doneEvent)(rw, c)
			for routertest.Pause(c, time.Second) {
				routertest.Stream(content("b"))(rw, c)
			}
		})
		start := time.Now()
		a := w.post(chatPath, streamBody)
		if took := time.Since(start); took > 5*time.Second || !strings.HasPrefix(a.body, content("a")+stopEvent+doneEvent) || a.err != nil {
			t.Errorf("after %s the client got %v\n%s", took, a.err, a.body)
		}
		if row := w.row(); row.Outcome != storage.OutcomeOK || row.CompletionTokens != 1 {
			t.Errorf("the row has %+v", row)
		}
	})
}
