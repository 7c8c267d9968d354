package upstreamtest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/router/upstream"
)

// bodies sends bodies of every kind and has them come back.
func bodies(t *testing.T, s Suite) {
	p := serve(t, s, func(l *line) {
		if req, b, ok := l.request(); ok {
			if len(req.Header["X-Test"]) != 2 || req.Host != "served.example" || req.URL.Path != "/v1/x" {
				l.t.Errorf("the request came as %v %v %v", req.Host, req.URL, req.Header)
			}
			l.say("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + string(b))
		}
	})
	client := p.open(s)
	long := strings.Repeat("0123456789abcdef", 512<<10)
	for name, c := range map[string]struct {
		body io.Reader
		want string
	}{
		"none":           {body: nil},
		"empty":          {body: http.NoBody},
		"small":          {body: strings.NewReader("hello"), want: "hello"},
		"64 KiB":         {body: strings.NewReader(long[:64<<10]), want: long[:64<<10]},
		"8 MiB":          {body: strings.NewReader(long), want: long},
		"1 KiB in place": {body: inMemory{strings.NewReader(long[:1<<10]), []byte(long[:1<<10])}, want: long[:1<<10]},
		"9 KiB in place": {body: inMemory{strings.NewReader(long[:9<<10]), []byte(long[:9<<10])}, want: long[:9<<10]},
		"8 MiB in place": {body: inMemory{strings.NewReader(long), []byte(long)}, want: long},
		"unknown length": {body: io.MultiReader(strings.NewReader("hel"), strings.NewReader("lo")), want: "hello"},
	} {
		req := request(t, t.Context(), http.MethodPost, p.address, c.body)
		req.Host = "served.example"
		if m, ok := c.body.(inMemory); ok {
			req.ContentLength = int64(len(m.b))
		}
		req.Header["X-Test"] = []string{"1", "2"}
		if g := do(client, "r", req); g.body != c.want || g.err != nil {
			t.Errorf("%s: %d bytes came back, %v", name, len(g.body), g.err)
		}
	}
}

// earlyAnswer is one that comes while the body is still being sent, from a
// replica that reads no more of it.
func earlyAnswer(t *testing.T, s Suite) {
	const refusal = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"
	long := strings.Repeat("x", 32<<20)
	for _, body := range []io.ReadCloser{io.NopCloser(strings.NewReader(long)), inMemory{strings.NewReader(long), []byte(long)}} {
		earlyAnswerTo(t, s, refusal, body, int64(len(long)))
	}
}

// inMemory is a body that need not be copied.
type inMemory struct {
	io.Reader
	b []byte
}

func (m inMemory) Slices() [][]byte { return [][]byte{m.b[:1], m.b[1:]} }
func (m inMemory) Close() error     { return nil }

func earlyAnswerTo(t *testing.T, s Suite, refusal string, body io.ReadCloser, length int64) {
	t.Helper()
	answered := make(chan struct{})
	p := serve(t, s, func(l *line) {
		if _, err := http.ReadRequest(l.r); err != nil {
			l.t.Error(err)
		}
		l.say(refusal)
		select {
		case <-answered:
		case <-time.After(patience):
			l.t.Error("the answer was not looked at while the body was being sent")
		}
	})
	req := request(t, t.Context(), http.MethodPost, p.address, body)
	req.ContentLength = length
	if g := do(p.open(s), "r", req); g.status != 413 || g.body != "no" || g.err != nil {
		t.Errorf("got %d %q, %v", g.status, g.body, g.err)
	}
	close(answered)
}

// bodyFails is a body that cannot be read to its end: the replica must not take
// what came of it for all, and the owner hears why.
func bodyFails(t *testing.T, s Suite) {
	mine := errors.New("mine")
	whole := make(chan bool, 1)
	p := serve(t, s, func(l *line) {
		_, _, ok := l.request()
		whole <- ok
	})
	req := request(t, t.Context(), http.MethodPost, p.address, io.MultiReader(strings.NewReader("half"), failing{mine}))
	if g := do(p.open(s), "r", req); !errors.Is(g.err, mine) {
		t.Errorf("the request ended with %v", g.err)
	}
	if <-whole {
		t.Error("half a body was taken for a whole one")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// badRequests are not sent at all.
func badRequests(t *testing.T, s Suite) {
	p := serve(t, s, func(l *line) { l.t.Error("something was sent") })
	client := p.open(s)
	for name, edit := range map[string]func(*http.Request){
		"a header with a line break":      func(r *http.Request) { r.Header["X"] = []string{"a\r\nY: b"} },
		"a header's name with a break":    func(r *http.Request) { r.Header["X\r\nY"] = []string{"b"} },
		"a method that is none":           func(r *http.Request) { r.Method = "PO ST" },
		"a context that is over":          func(r *http.Request) { *r = *r.WithContext(ended()) },
		"no host":                         func(r *http.Request) { r.URL.Host, r.Host = "", "" },
		"a scheme that nobody knows here": func(r *http.Request) { r.URL.Scheme = "gopher" },
	} {
		req := request(t, t.Context(), http.MethodPost, p.address, strings.NewReader("x"))
		edit(req)
		if g := do(client, "r", req); g.err == nil {
			t.Errorf("%s: it was answered with %d", name, g.status)
		}
	}
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// cancelled ends the context at each stage: the caller is told at once, and so is
// the replica.
func cancelled(t *testing.T, s Suite) {
	for name, c := range map[string]struct {
		dials  bool // the context ends while it dials
		body   string
		answer string // before the context ends
		want   string // of the answer's body
	}{
		"dialling":       {dials: true},
		"sending":        {body: strings.Repeat("x", 32<<20)},
		"before a byte":  {body: "x"},
		"in the head":    {body: "x", answer: "HTTP/1.1 200 OK\r\n"},
		"in the body":    {body: "x", answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", want: "hello"},
		"between chunks": {body: "x", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", want: "hello"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		mine := errors.New("mine")
		p := serve(t, s, func(l *line) {
			if _, err := http.ReadRequest(l.r); err != nil {
				l.t.Errorf("%s: %v", name, err)
			}
			l.say(c.answer)
			if c.want == "" {
				cancel(mine)
			}
			l.gone()
		})
		client := s.Open(upstream.Config{Dial: func(within context.Context, network, address string) (net.Conn, error) {
			if c.dials {
				cancel(mine)
				<-ctx.Done() // net/http goes on within its own
				return nil, ctx.Err()
			}
			return p.dial(within, network, address)
		}})
		res, err := client.Do("r", request(t, ctx, http.MethodPost, p.address, strings.NewReader(c.body)))
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: it was answered with %d", name, res.StatusCode)
			} else if !errors.Is(err, mine) {
				t.Errorf("%s: it ended with %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b := make([]byte, len(c.want))
		if _, err := io.ReadFull(res.Body, b); err != nil || string(b) != c.want {
			t.Errorf("%s: got %q, %v", name, b, err)
		}
		cancel(mine)
		if n, err := res.Body.Read(b); err == nil || err == io.EOF {
			t.Errorf("%s: after the end there were %d bytes, %v", name, n, err)
		}
		_ = res.Body.Close() // it is over
		client.CloseIdle()
	}
}

// closedEarly is a body that nobody reads to its end: the replica is told.
func closedEarly(t *testing.T, s Suite) {
	told := make(chan struct{})
	p := serve(t, s, func(l *line) {
		defer close(told)
		l.request()
		l.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
		l.gone()
	})
	res, err := p.open(s).Do("r", request(t, t.Context(), http.MethodPost, p.address, strings.NewReader("x")))
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	if n, err := res.Body.Read(make([]byte, 9)); n > 0 || err == nil {
		t.Errorf("a closed body gave %d bytes, %v", n, err)
	}
	<-told
}
