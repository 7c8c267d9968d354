package upstream_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"llmgw.io/llmgw/router/upstream"
)

// said is a connection whose other side says these bytes and closes.
type said struct {
	b    []byte
	each int // bytes at a time; 0: all
}

func (s *said) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	if s.each > 0 {
		p = p[:min(len(p), s.each)]
	}
	n := copy(p, s.b)
	s.b = s.b[n:]
	return n, nil
}

func (s *said) Write(p []byte) (int, error)      { return len(p), nil }
func (s *said) Close() error                     { return nil }
func (s *said) LocalAddr() net.Addr              { return nil }
func (s *said) RemoteAddr() net.Addr             { return nil }
func (s *said) SetDeadline(time.Time) error      { return nil }
func (s *said) SetReadDeadline(time.Time) error  { return nil }
func (s *said) SetWriteDeadline(time.Time) error { return nil }

// heard is what somebody made of the bytes of an answer.
type heard struct {
	ok     bool // it is whole
	status int
	header http.Header
	body   []byte
}

func byPool(t *testing.T, b []byte, each int, next bool) heard {
	t.Helper()
	pool := upstream.New(upstream.Config{Dial: func(context.Context, string, string) (net.Conn, error) {
		return &said{b: bytes.Clone(b), each: each}, nil
	}})
	defer pool.CloseIdle()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://r/", nil)
	res, err := pool.Do("r", req)
	if err != nil {
		return heard{}
	}
	defer res.Body.Close()
	h := heard{status: res.StatusCode, header: res.Header}
	if chunks, ok := res.Body.(upstream.Body); next && ok {
		for err == nil {
			var piece []byte
			piece, _, err = chunks.Next()
			h.body = append(h.body, piece...)
		}
		h.ok = errors.Is(err, io.EOF)
		return h
	}
	h.body, err = io.ReadAll(res.Body)
	h.ok = err == nil
	return h
}

func byStandard(b []byte) heard {
	r := bufio.NewReader(bytes.NewReader(b))
	for {
		res, err := http.ReadResponse(r, &http.Request{Method: http.MethodPost})
		if err != nil {
			return heard{}
		}
		if res.StatusCode/100 == 1 {
			continue
		}
		body, err := io.ReadAll(res.Body)
		return heard{ok: err == nil, status: res.StatusCode, header: res.Header, body: body}
	}
}

// FuzzAnswer wants the same answer for every way of cutting its bytes and of
// reading its body, and of net/http where both make something of it.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.0 200\nA: b\n\nhello", "HTTP/1.1 204 No\r\nX: y\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\nT: u\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nA \r\n0123456789\r\n0\r\n\r\nrest",
		"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nContent-Length: 3\r\n\r\n1\r\na\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
	} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, b []byte, each int) {
		whole := byPool(t, b, 0, false)
		for _, other := range []heard{byPool(t, b, 1+max(each, 0)%16, false), byPool(t, b, 1+max(each, 0)%16, true), byPool(t, b, 0, true)} {
			if whole.ok != other.ok || whole.status != other.status || whole.ok && !bytes.Equal(whole.body, other.body) {
				t.Errorf("%q is %v %d %q, and cut or read otherwise %v %d %q", b, whole.ok, whole.status, whole.body, other.ok, other.status, other.body)
			}
		}
		theirs := byStandard(b)
		if !whole.ok || !theirs.ok {
			return
		}
		if whole.status != theirs.status || !bytes.Equal(whole.body, theirs.body) {
			t.Errorf("%q is %d %q, and to net/http %d %q", b, whole.status, whole.body, theirs.status, theirs.body)
		}
		for name, values := range theirs.header {
			if name != "Trailer" && !slices.Equal(values, whole.header[name]) {
				t.Errorf("%q has the header %q: %q, and to net/http %q", b, name, whole.header[name], values)
			}
		}
	})
}
