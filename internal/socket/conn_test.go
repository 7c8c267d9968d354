package socket_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"llmgw.io/llmgw/internal/socket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair gives two ends of a connection, of which the first is quiet.
func pair(t *testing.T, network string) (quiet, other net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = t.TempDir() + "/s"
	}
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	other, err = net.Dial(network, ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	quiet, err = socket.Listener(ln).Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := quiet.(*socket.Conn); !ok {
		t.Skip("this system has no raw calls here")
	}
	t.Cleanup(func() {
		quiet.Close()
		other.Close()
	})
	return quiet, other
}

// More than a socket holds goes both ways at once, and the end is seen.
func TestBothWays(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp", "unix"} {
		quiet, other := pair(t, network)
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
		var all sync.WaitGroup
		for _, c := range []net.Conn{quiet, other} {
			all.Go(func() {
				if n, err := c.Write(data); n != len(data) || err != nil {
					t.Errorf("%s: %d bytes were written: %v", network, n, err)
				}
				if err := half(c).CloseWrite(); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%s: %d bytes were read: %v", network, len(got), err)
				}
			})
		}
		all.Wait()
	}
}

func half(c net.Conn) interface{ CloseWrite() error } {
	if q, ok := c.(*socket.Conn); ok {
		c = q.NetConn()
	}
	return c.(interface{ CloseWrite() error })
}

// What waits ends with a deadline and with Close, by the errors of package net.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		do   func(net.Conn) error
		want error
	}{
		"deadline": {func(c net.Conn) error { return c.SetDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		"close":    {net.Conn.Close, net.ErrClosed},
	} {
		quiet, _ := pair(t, "tcp")
		reads, writes := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := quiet.Read(make([]byte, 1))
			reads <- err
		}()
		go func() {
			n, err := quiet.Write(make([]byte, 64<<20)) // more than anybody holds
			if n == 64<<20 {
				t.Errorf("%s: %d bytes were written", name, n)
			}
			writes <- err
		}()
		if err := end.do(quiet); err != nil {
			t.Error(err)
		}
		for what, err := range map[string]error{"reading": <-reads, "writing": <-writes} {
			ne, ok := errors.AsType[net.Error](err)
			if !errors.Is(err, end.want) || !ok || ne.Timeout() != (name == "deadline") {
				t.Errorf("%s: %s ended with %v", name, what, err)
			}
		}
	}
}

// The other side's end is an end, its reset an error, and nothing is written to it.
func TestTheOtherSideEnds(t *testing.T) {
	t.Parallel()
	quiet, other := pair(t, "tcp")
	if n, err := quiet.Write(nil); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	if n, err := quiet.Read(nil); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	_, _ = io.WriteString(other, "x")
	other.Close()
	if got, err := io.ReadAll(quiet); string(got) != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	quiet, other = pair(t, "tcp")
	_ = other.(*net.TCPConn).SetLinger(0)
	other.Close()
	if _, err := quiet.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a reset was read as %v", err)
	}
	var op *net.OpError
	if _, err := quiet.Write([]byte("x")); !errors.As(err, &op) || op.Op != "write" {
		t.Errorf("a reset was written to: %v", err)
	}
}

// What is no plain socket is left alone.
func TestOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	quiet, _ := pair(t, "tcp")
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	for _, c := range []net.Conn{a, quiet, struct{ net.Conn }{quiet}} {
		if socket.Quiet(c) != c {
			t.Errorf("a %T was wrapped", c)
		}
	}
}

// A server over quiet connections serves, keeps them, and notices who left.
func TestServer(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{})
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/wait" {
			<-req.Context().Done()
			close(left)
			return
		}
		_, _ = io.Copy(w, req.Body)
	})}
	over := make(chan error)
	go func() { over <- srv.Serve(socket.Listener(ln)) }()
	client := &http.Client{Transport: &http.Transport{}}
	for range 3 {
		res, err := client.Post("http://"+ln.Addr().String()+"/", "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(res.Body); string(b) != "hello" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		res.Body.Close()
	}
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
	c.Close()
	<-left
	client.CloseIdleConnections()
	srv.Close()
	<-over
}
