package upstreamtest

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"llmgw.io/llmgw/router/upstream"
)

// replica is a server that says its bytes by a script, on a real socket.
type replica struct {
	t       *testing.T
	address string
	dials   atomic.Int64
	conns   sync.WaitGroup
}

// line is one connection to it, as the script sees it.
type line struct {
	net.Conn
	tcp *net.TCPConn
	t   *testing.T
	r   *bufio.Reader
	n   int // of the connection, beginning with 1
}

// serve runs a script for every connection; the connection is closed when it
// returns. At the test's end every connection must have been closed.
func serve(t *testing.T, s Suite, script func(l *line)) *replica {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &replica{t: t, address: ln.Addr().String()}
	if s.Gate != nil {
		p.address = upstream.SchemeGate + "://n1@" + p.address
	}
	p.conns.Go(func() {
		for n := 1; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			l := &line{Conn: c, tcp: c.(*net.TCPConn), t: t, n: n}
			if s.Gate != nil {
				l.Conn = tls.Server(c, s.Gate)
			}
			l.r = bufio.NewReader(l.Conn)
			_ = l.SetDeadline(time.Now().Add(patience))
			p.conns.Go(func() {
				defer func() { _ = l.Close() }() // it may be closed already
				script(l)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		p.conns.Wait()
	})
	return p
}

// open makes a client for it, whose idle connections are closed at the end.
func (p *replica) open(s Suite) Client {
	c := s.Open(upstream.Config{Dial: p.dial, Idle: time.Minute})
	p.t.Cleanup(c.CloseIdle)
	return c
}

func (p *replica) dial(ctx context.Context, network, address string) (net.Conn, error) {
	p.dials.Add(1)
	return new(net.Dialer).DialContext(ctx, network, address)
}

// request reads the next request with its body; false: there is none.
func (l *line) request() (*http.Request, []byte, bool) {
	req, err := http.ReadRequest(l.r)
	if err != nil {
		l.timely(err)
		return nil, nil, false
	}
	b, err := io.ReadAll(req.Body)
	return req, b, err == nil
}

// each answers every request with the same bytes.
func each(answer string) func(*line) {
	return func(l *line) {
		for _, _, ok := l.request(); ok; _, _, ok = l.request() {
			l.say(answer)
		}
	}
}

func (l *line) say(s string) { _, _ = io.WriteString(l.Conn, s) }

// dribble sends every byte by itself.
func (l *line) dribble(s string) {
	for i := range len(s) {
		l.say(s[i : i+1])
	}
}

// gone waits until the other side has closed, and reports an error if it does not.
func (l *line) gone() {
	_, err := io.Copy(io.Discard, l.r)
	l.timely(err)
}

func (l *line) timely(err error) {
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		l.t.Error("the connection was not closed")
	}
}
