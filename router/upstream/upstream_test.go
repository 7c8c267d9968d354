package upstream_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"llmgw.io/llmgw/router/upstream"
	"llmgw.io/llmgw/router/upstream/upstreamtest"
)

// Every connection of the suite is closed at its end, and no goroutine is left.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPool(t *testing.T) {
	t.Parallel()
	upstreamtest.Suite{Open: func(c upstream.Config) upstreamtest.Client { return upstream.New(c) }, Strict: true}.Run(t)
}

// Connections that are no plain sockets are read without looking first whether
// there is something, and here they give a few bytes at a time.
func TestPoolOverOtherConnections(t *testing.T) {
	t.Parallel()
	upstreamtest.Suite{Open: func(c upstream.Config) upstreamtest.Client {
		dial := c.Dial
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			nc, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &slow{Conn: nc}, nil
		}
		return upstream.New(c)
	}, Strict: true}.Run(t)
}

type slow struct {
	net.Conn
	n int
}

func (s *slow) Read(p []byte) (int, error) {
	if s.n++; s.n < 5000 {
		p = p[:min(len(p), 1+s.n%3)]
	}
	return s.Conn.Read(p)
}

func TestStandard(t *testing.T) {
	t.Parallel()
	upstreamtest.Suite{Open: func(c upstream.Config) upstreamtest.Client { return upstream.NewStandard(c) }}.Run(t)
}

// What a replica says while nobody asks is not the answer to the next request,
// whether it comes with an answer or later.
func TestNobodyAsked(t *testing.T) {
	t.Parallel()
	const good, evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	for _, later := range []bool{false, true} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		say, said := make(chan struct{}), make(chan struct{})
		go func() {
			for first := true; ; first = false {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					_, _ = c.Read(make([]byte, 4096))
					switch {
					case !first:
						_, _ = io.WriteString(c, good)
					case !later:
						_, _ = io.WriteString(c, good+evil)
					default:
						_, _ = io.WriteString(c, good)
						<-say
						_, _ = io.WriteString(c, evil)
						close(said)
					}
					_, _ = c.Read(make([]byte, 4096))
				}()
			}
		}()
		pool := upstream.New(upstream.Config{Idle: time.Minute})
		for n := range 2 {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+ln.Addr().String()+"/", strings.NewReader("x"))
			res, err := pool.Do("r", req)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(res.Body); err != nil || string(b) != "good" {
				t.Errorf("later %v: got %q, %v", later, b, err)
			}
			if later && n == 0 {
				close(say)
				<-said
			}
		}
		pool.CloseIdle()
		ln.Close()
	}
}
