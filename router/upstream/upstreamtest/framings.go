package upstreamtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// framing is an answer and what a client makes of it.
type framing struct {
	name, bytes string
	method      string // empty: POST
	want        got
	// once: the connection cannot be used again.
	once bool
}

func wholes() []framing {
	long := strings.Repeat("0123456789abcdef", 64<<10)
	ok := func(body string, length int64) got { return got{status: 200, body: body, length: length} }
	return []framing{
		{name: "length", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", want: ok("hello", 5)},
		{name: "no body", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", want: ok("", 0)},
		{name: "no reason", bytes: "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nhi", want: ok("hi", 2)},
		{name: "lower case and spaces", bytes: "HTTP/1.1 200 OK\r\ncontent-length: \t5 \r\nx:\r\n\r\nhello", want: ok("hello", 5)},
		{name: "lines end with LF", bytes: "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", want: ok("hello", 5)},
		{name: "chunks", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", want: ok("hello", -1)},
		{name: "no chunk", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", want: ok("", -1)},
		{
			name:  "chunks with extensions and trailers",
			bytes: "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n00A;x=y\r\n0123456789\r\n0;z\r\nX-Sum: 1\r\nY: 2\r\n\r\n",
			want:  ok("0123456789", -1),
		},
		{name: "data that looks like chunks", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n0\r\n\r\n\r\n0\r\n\r\n", want: ok("0\r\n\r\n", -1)},
		{name: "to the connection's end", bytes: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", want: ok("hello", -1), once: true},
		{name: "length, and close", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: x, Close\r\n\r\nhi", want: ok("hi", 2), once: true},
		{name: "1.0", bytes: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", want: ok("hi", 2), once: true},
		{name: "1.0 that goes on", bytes: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi", want: ok("hi", 2)},
		{name: "204", bytes: "HTTP/1.1 204 No Content\r\n\r\n", want: got{status: 204}},
		{name: "304", bytes: "HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", want: got{status: 304}},
		{name: "HEAD", method: http.MethodHead, bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", want: ok("", 5)},
		{name: "interim answers", bytes: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", want: ok("hi", 2)},
		{name: "an error", bytes: "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nRetry-After: 7\r\n\r\nbusy", want: got{status: 503, body: "busy", length: 4}},
		{name: "a long body", bytes: fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(long), long), want: ok(long, int64(len(long)))},
		{name: "a long chunk", bytes: fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(long), long), want: ok(long, -1)},
		{name: "many chunks", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nx\r\n", 9999) + "0\r\n\r\n", want: ok(strings.Repeat("x", 9999), -1)},
		{name: "a long head", bytes: "HTTP/1.1 200 OK\r\nX: " + long[:20<<10] + "\r\nContent-Length: 2\r\n\r\nhi", want: ok("hi", 2)},
	}
}

// framings asks twice each, so that what follows an answer is looked at too.
func framings(t *testing.T, s Suite) {
	for _, f := range wholes() {
		for _, slow := range []bool{false, true} {
			if slow && len(f.bytes) > 1000 {
				continue
			}
			p := serve(t, s, func(l *line) {
				for req, _, ok := l.request(); ok; req, _, ok = l.request() {
					if slow {
						l.dribble(f.bytes)
					} else {
						l.say(f.bytes)
					}
					if f.once || req.Close {
						return
					}
				}
			})
			client := p.open(s)
			for range 2 {
				f.same(t, do(client, "r", request(t, t.Context(), f.verb(), p.address, nil)))
			}
			if n := p.dials.Load(); f.once != (n == 2) {
				t.Errorf("%s: two requests took %d connections", f.name, n)
			}
			client.CloseIdle()
		}
	}
}

func (f framing) verb() string {
	if f.method == "" {
		return http.MethodPost
	}
	return f.method
}

func (f framing) same(t *testing.T, g got) {
	t.Helper()
	if g.err != nil || g.status != f.want.status || g.body != f.want.body || g.length != f.want.length {
		t.Errorf("%s: got status %d, length %d, %d bytes, error %v", f.name, g.status, g.length, len(g.body), g.err)
	}
}

// refusals are answers that nobody may make anything of. Those that are strict
// are let pass by net/http.
func refusals(t *testing.T, s Suite) {
	for _, f := range []struct {
		name, bytes string
		strict      bool
	}{
		{name: "two lengths", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\nhello"},
		{name: "the same length twice", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", strict: true},
		{name: "a list of lengths", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello"},
		{name: "a length with a sign", bytes: "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello"},
		{name: "a length below zero", bytes: "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"},
		{name: "a length too large", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello"},
		{name: "a length and chunks", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", strict: true},
		{name: "chunks twice", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		{name: "another coding", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
		{name: "chunks in 1.0", bytes: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", strict: true},
		{name: "a folded line", bytes: "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", strict: true},
		{name: "a space before the colon", bytes: "HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n", strict: true},
		{name: "no colon", bytes: "HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n"},
		{name: "a control character", bytes: "HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 0\r\n\r\n", strict: true},
		{name: "another version", bytes: "HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n", strict: true},
		{name: "a short status", bytes: "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"},
		{name: "no HTTP", bytes: "220 mail.example ESMTP\r\n\r\n"},
		{name: "a head without end", bytes: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 300<<10)},
		{name: "another protocol", bytes: "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"},
		{name: "a size that is none", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n"},
		{name: "no size", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n"},
		{name: "a size too large", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\nhello\r\n0\r\n\r\n"},
		{name: "a size with a sign", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n"},
		{name: "a size's line ends with LF", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n"},
		{name: "a chunk longer than its size", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n"},
		{name: "a size's line without end", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("x", 64<<10)},
	} {
		if f.strict && !s.Strict {
			continue
		}
		p := serve(t, s, func(l *line) {
			if _, _, ok := l.request(); ok {
				l.say(f.bytes)
				l.gone()
			}
		})
		if g := do(p.open(s), "r", request(t, t.Context(), http.MethodPost, p.address, nil)); g.err == nil {
			t.Errorf("%s: it was taken for %d %q", f.name, g.status, g.body)
		}
	}
}

// brokenOff are answers whose end never came. What came before it is given.
func brokenOff(t *testing.T, s Suite) {
	for _, f := range []struct{ name, bytes, body string }{
		{"nothing", "", ""},
		{"in the status", "HTTP/1.1 2", ""},
		{"in the head", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", ""},
		{"in a body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "hel"},
		{"in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "hel"},
		{"behind a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "hello"},
		{"before the last line", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", "hello"},
	} {
		for _, reset := range []bool{false, true} {
			p := serve(t, s, func(l *line) {
				l.request()
				l.say(f.bytes)
				if reset {
					_ = l.tcp.SetLinger(0)
				}
			})
			g := do(p.open(s), "r", request(t, t.Context(), http.MethodPost, p.address, nil))
			switch {
			case g.err == nil:
				t.Errorf("%s: it was taken for %d %q", f.name, g.status, g.body)
			case !reset && g.body != f.body:
				t.Errorf("%s: %q was given, and then %v", f.name, g.body, g.err)
			}
		}
	}
}
