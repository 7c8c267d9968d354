package upstreamtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/router/upstream"
)

const hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

// reuse asks one after the other: one connection is enough.
func reuse(t *testing.T, s Suite) {
	p := serve(t, s, each(hello))
	client := p.open(s)
	for range 50 {
		if g := do(client, "r", request(t, t.Context(), http.MethodPost, p.address, strings.NewReader("x"))); g.body != "hello" || g.err != nil {
			t.Fatalf("got %q, %v", g.body, g.err)
		}
	}
	if n := p.dials.Load(); n != 1 {
		t.Errorf("50 requests took %d connections", n)
	}
}

// noCap has 80 requests wait for their answers at once.
func noCap(t *testing.T, s Suite) {
	const most = 80
	var arrived, answered sync.WaitGroup
	arrived.Add(most)
	p := serve(t, s, func(l *line) {
		if _, _, ok := l.request(); ok {
			arrived.Done()
			arrived.Wait()
			l.say(hello)
		}
	})
	client := p.open(s)
	for range most {
		answered.Go(func() {
			if g := do(client, "r", request(t, t.Context(), http.MethodPost, p.address, nil)); g.err != nil {
				t.Error(g.err)
			}
		})
	}
	answered.Wait()
}

// apart asks two replicas at one address: their connections are their own.
func apart(t *testing.T, s Suite) {
	p := serve(t, s, each(hello))
	client := p.open(s)
	for _, replica := range []string{"a", "b", "a", "b"} {
		if g := do(client, replica, request(t, t.Context(), http.MethodPost, p.address, nil)); g.err != nil {
			t.Error(g.err)
		}
	}
	if n := p.dials.Load(); n != 2 {
		t.Errorf("two replicas took %d connections", n)
	}
}

// stale has the replica close a connection at the very moment at which it is
// used again: the request goes over another one.
func stale(t *testing.T, s Suite) {
	p := serve(t, s, func(l *line) {
		l.request()
		l.say(hello)
		_, body, ok := l.request()
		switch {
		case l.n == 1:
			return
		case ok && string(body) != "":
			l.t.Errorf("a second request came with %q", body)
		}
	})
	client := p.open(s)
	for range 2 {
		g := do(client, "r", request(t, t.Context(), http.MethodPost, p.address, strings.NewReader("again")))
		if g.body != "hello" || g.err != nil {
			t.Errorf("got %q, %v", g.body, g.err)
		}
	}
	if n := p.dials.Load(); n != 2 {
		t.Errorf("there were %d connections", n)
	}
}

// staleTwice has the replica close the second connection too: that is no chance.
func staleTwice(t *testing.T, s Suite) {
	p := serve(t, s, func(l *line) {
		l.request()
		if l.n == 1 {
			l.say(hello)
			l.request()
		}
	})
	client := p.open(s)
	if g := do(client, "r", request(t, t.Context(), http.MethodPost, p.address, strings.NewReader("x"))); g.err != nil {
		t.Fatal(g.err)
	}
	if g := do(client, "r", request(t, t.Context(), http.MethodPost, p.address, strings.NewReader("x"))); g.err == nil {
		t.Errorf("got %q of a replica that says nothing", g.body)
	}
	if n := p.dials.Load(); n != 2 {
		t.Errorf("there were %d connections", n)
	}
}

// notAgain are requests that are not sent twice: something had been answered, or
// their body cannot be given again.
func notAgain(t *testing.T, s Suite) {
	for name, c := range map[string]struct {
		half string
		body io.Reader
	}{
		"half a head":               {half: "HTTP/1.1 200 OK\r\n", body: strings.NewReader("x")},
		"half a body":               {half: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", body: strings.NewReader("x")},
		"a body that is there once": {body: io.MultiReader(strings.NewReader("x"))},
	} {
		p := serve(t, s, func(l *line) {
			l.request()
			l.say(hello)
			l.request()
			l.say(c.half)
		})
		client := p.open(s)
		if g := do(client, "r", request(t, t.Context(), http.MethodPost, p.address, strings.NewReader("x"))); g.err != nil {
			t.Fatal(g.err)
		}
		if g := do(client, "r", request(t, t.Context(), http.MethodPost, p.address, c.body)); g.err == nil {
			t.Errorf("%s: got %q", name, g.body)
		}
		if n := p.dials.Load(); n != 1 {
			t.Errorf("%s: there were %d connections", name, n)
		}
	}
}

// forget closes what is idle, and what is in use when it is given back; other
// replicas keep theirs.
func forget(t *testing.T, s Suite) {
	left := make(chan int, 2)
	p := serve(t, s, func(l *line) {
		each(hello)(l)
		left <- l.n
	})
	client := p.open(s)
	for _, replica := range []string{"a", "b"} {
		if g := do(client, replica, request(t, t.Context(), http.MethodPost, p.address, nil)); g.err != nil {
			t.Fatal(g.err)
		}
	}
	client.Forget("a")
	client.Forget("unknown")
	if n := <-left; n != 1 {
		t.Errorf("connection %d was closed", n)
	}
	if g := do(client, "b", request(t, t.Context(), http.MethodPost, p.address, nil)); g.err != nil || p.dials.Load() != 2 {
		t.Errorf("the other replica: %v, %d connections", g.err, p.dials.Load())
	}
	res, err := client.Do("b", request(t, t.Context(), http.MethodPost, p.address, nil))
	if err != nil {
		t.Fatal(err)
	}
	client.Forget("b")
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "hello" {
		t.Errorf("a replica that was forgotten meanwhile: got %q, %v", b, err)
	}
	_ = res.Body.Close() // it was read
	if n := <-left; n != 2 {
		t.Errorf("connection %d was closed", n)
	}
}

// idleEnds lets a connection idle: after 3 seconds it is closed, before it is not.
func idleEnds(t *testing.T, s Suite) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan time.Time, 8)
		dials := 0
		client := s.Open(upstream.Config{Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			dials++
			go func() {
				// A pipe takes no more than is read, and the request comes in one piece or two.
				defer theirs.Close()
				srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })}
				_ = srv.Serve(&single{conn: theirs, closed: closed})
			}()
			return ours, nil
		}})
		defer client.CloseIdle()
		for _, c := range []struct {
			after time.Duration
			dials int
		}{{0, 1}, {2 * time.Second, 1}, {2900 * time.Millisecond, 1}, {3100 * time.Millisecond, 2}} {
			time.Sleep(c.after)
			if g := do(client, "r", request(t, t.Context(), http.MethodPost, "r:1", strings.NewReader("x"))); g.err != nil || dials != c.dials {
				t.Errorf("after %v: %v, %d connections", c.after, g.err, dials)
			}
		}
		time.Sleep(4 * time.Second)
		if len(closed) != 2 {
			t.Errorf("%d connections were closed", len(closed))
		}
	})
}

// single is a listener of one connection; its server ends with it.
type single struct {
	conn   net.Conn
	closed chan time.Time
	over   chan struct{}
}

func (s *single) Accept() (net.Conn, error) {
	if s.over != nil {
		<-s.over
		return nil, net.ErrClosed
	}
	s.over = make(chan struct{})
	return &noted{Conn: s.conn, single: s}, nil
}

func (s *single) Close() error   { return nil }
func (s *single) Addr() net.Addr { return s.conn.LocalAddr() }

type noted struct {
	net.Conn
	once   sync.Once
	single *single
}

func (n *noted) Close() error {
	n.once.Do(func() {
		n.single.closed <- time.Now()
		close(n.single.over)
	})
	return n.Conn.Close()
}

// connectEnds dials where nobody answers: it takes 2 seconds.
func connectEnds(t *testing.T, s Suite) {
	synctest.Test(t, func(t *testing.T) {
		client := s.Open(upstream.Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		began := time.Now()
		g := do(client, "r", request(t, t.Context(), http.MethodPost, "r:1", strings.NewReader("x")))
		if took := time.Since(began); took != 2*time.Second || !errors.Is(g.err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", took, g.err)
		}
	})
}

// manyAtOnce has each answer go to whom it belongs.
func manyAtOnce(t *testing.T, s Suite) {
	p := serve(t, s, func(l *line) {
		for _, b, ok := l.request(); ok; _, b, ok = l.request() {
			l.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(b), b))
		}
	})
	client := p.open(s)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 100 {
				mine := strings.Repeat(fmt.Sprintf("%d.%d ", i, j), 1+j*i)
				g := do(client, fmt.Sprint(j%3), request(t, t.Context(), http.MethodPost, p.address, strings.NewReader(mine)))
				if g.body != mine || g.err != nil {
					t.Errorf("%d bytes were sent, %d came back: %v", len(mine), len(g.body), g.err)
				}
			}
		})
	}
	all.Wait()
	if n := p.dials.Load(); s.Strict && n > 3*16 { // net/http dials ahead
		t.Errorf("16 clients took %d connections", n)
	}
}
