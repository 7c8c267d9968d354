package router_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// dial opens a connection of a client that writes what it likes.
func (w *world) dial(text string) net.Conn {
	w.t.Helper()
	conn, err := w.net.Dial(w.t.Context(), "tcp", "router:80")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		w.t.Fatal(err)
	}
	return conn
}

// A body that never comes holds no connection, also where nobody reads it: of a
// stranger, at a path that is none, and of a client that was too slow.
func TestBodiesThatDoNotCome(t *testing.T) {
	t.Parallel()
	for head, status := range map[string]int{
		"POST /v1/chat/completions HTTP/1.1\r\n":                               401,
		"POST /v1/nowhere HTTP/1.1\r\n":                                        404,
		"POST /v1/models HTTP/1.1\r\n":                                         401,
		"POST /healthz HTTP/1.1\r\n":                                           200,
		"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n": 401,
		"POST /v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer KEY\r\n":  400,
	} {
		inWorld(t, nil, func(w *world) {
			length := "Content-Length: 1000\r\n"
			if strings.Contains(head, "chunked") {
				length = ""
			}
			conn := w.dial(strings.ReplaceAll(head, "KEY", w.key) + "Host: router\r\n" + length + "\r\n")
			start := time.Now()
			r := bufio.NewReader(conn)
			res, err := http.ReadResponse(r, nil)
			if err != nil || res.StatusCode != status {
				t.Fatalf("%q: %v, %v", head, res, err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			if _, err := r.ReadByte(); err == nil {
				t.Errorf("%q: something follows the answer", head)
			}
			if took := time.Since(start); took > 2*time.Minute {
				t.Errorf("%q: the connection was held for %s", head, took)
			}
		})
	}
}

// A client that reads nothing holds no connection, whatever it asked for.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"GET /healthz", "GET /v1/models", "GET /v1/nowhere", "POST " + chatPath} {
		inWorld(t, nil, func(w *world) {
			w.one(nil)
			conn := w.dial(fmt.Sprintf("%s HTTP/1.1\r\nHost: router\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", path, w.key, len(chatBody), chatBody))
			time.Sleep(3 * time.Minute)
			if b, _ := io.ReadAll(conn); len(b) != 0 {
				t.Errorf("%s: the router has waited for its client:\n%s", path, b)
			}
		})
	}
}
