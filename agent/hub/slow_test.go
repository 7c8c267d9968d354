package hub_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// oneConn is a listener of one connection.
type oneConn struct {
	conn chan net.Conn
	done chan struct{}
}

func (l oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l oneConn) Close() error   { return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// converse sends a text to the hub as a stranger does, over HTTP/1.1.
func converse(t *testing.T, h *hub.Hub, text string) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	l := oneConn{conn: make(chan net.Conn, 1), done: make(chan struct{})}
	l.conn <- theirs
	srv := &http.Server{Handler: h.Handler(), ReadHeaderTimeout: time.Second, IdleTimeout: time.Second}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() {
		close(l.done)
		_ = srv.Close()
		_ = ours.Close()
	})
	if _, err := io.WriteString(ours, text); err != nil {
		t.Fatal(err)
	}
	return ours
}

// A stranger holds no connection by sending nothing or by reading nothing.
func TestStrangersThatDoNothing(t *testing.T) {
	t.Parallel()
	for _, path := range []string{protocol.PathBeat, protocol.PathJoin, hub.PathHealth, "/nowhere"} {
		synctest.Test(t, func(t *testing.T) {
			h, _ := inMemory(t, hub.Config{})
			conn := converse(t, h, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
			start := time.Now()
			r := bufio.NewReader(conn)
			if resp, err := http.ReadResponse(r, nil); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			if _, err := r.ReadByte(); err == nil || time.Since(start) > 2*time.Minute {
				t.Errorf("%s without its body: %v after %s", path, err, time.Since(start))
			}
		})
		synctest.Test(t, func(t *testing.T) {
			h, _ := inMemory(t, hub.Config{})
			conn := converse(t, h, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
			time.Sleep(2 * time.Minute)
			if b, _ := io.ReadAll(conn); len(b) != 0 {
				t.Errorf("%s: the hub has waited for its caller:\n%s", path, b)
			}
		})
	}
}

// An agent that never ends a log is cut off at the log's time.
func TestLogWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, reg := inMemory(t, hub.Config{Limits: hub.Limits{LogTime: time.Minute}})
		reg.Apply("n1", inventory.Report{Facts: &inventory.Facts{Features: protocol.Features}}, time.Now())
		if err := h.Dispatch(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() {
			d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Epoch: 1, Version: 1})
			if err != nil || len(d.Asks) != 1 {
				answered <- errors.New("no question came")
				return
			}
			answered <- h.Answer(t.Context(), "n1", protocol.Answer{ID: d.Asks[0].ID, OK: true}, drip{})
		}()
		synctest.Wait()
		start := time.Now()
		log, err := h.Logs(t.Context(), "n1", protocol.LogsArgs{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, log); !errors.Is(err, hub.ErrTimeout) || time.Since(start) > 2*time.Minute {
			t.Errorf("the log ended with %v after %s", err, time.Since(start))
		}
		_ = log.Close()
		if err := <-answered; err == nil {
			t.Error("the agent was told that its log was read")
		}
	})
}

// drip is a log with a line now and then, for ever.
type drip struct{}

func (drip) Read(p []byte) (int, error) {
	time.Sleep(10 * time.Second)
	return copy(p, "line\n"), nil
}
