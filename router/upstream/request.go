package upstream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strconv"
	"sync"
)

// Slices is a request's body that lies in memory, so that it can be sent without
// a copy. The pieces must not change until the body is closed, and are
// ContentLength bytes together.
type Slices interface{ Slices() [][]byte }

const (
	// copyBytes is how large a body may be to be sent in one piece with its head.
	copyBytes = 4 << 10
	// inlineBytes is how large one may be to be sent before the answer is looked
	// for. Whoever answers without having read so much reads it then, or closes. A
	// larger one has a goroutine that sends it, so that no answer waits behind it.
	inlineBytes = 256 << 10
)

// errBody is a body that its owner could not give.
var errBody = errors.New("upstream: the request's body cannot be read")

// heads are what requests' heads are written into, and small bodies.
var heads = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// outgoing is a request on its way out.
type outgoing struct {
	body   io.ReadCloser // nil: there is none, or somebody else closes it
	none   bool
	pieces [][]byte // of the body; nil: it has to be read
}

func (o *outgoing) init(req *http.Request) error {
	o.none = req.Body == nil || req.Body == http.NoBody
	if err := o.take(req.Body, req); err != nil {
		return err
	}
	return check(req)
}

func (o *outgoing) take(body io.ReadCloser, req *http.Request) error {
	o.body, o.pieces = body, nil
	s, ok := body.(Slices)
	switch {
	case !ok && req.GetBody != nil && req.ContentLength > 0 && req.ContentLength <= copyBytes:
		// What can be given again lies in memory.
		o.pieces = [][]byte{make([]byte, req.ContentLength)}
		if _, err := io.ReadFull(body, o.pieces[0]); err != nil {
			return fmt.Errorf("%w: %w", errBody, err)
		}
		return nil
	case !ok:
		return nil
	}
	if o.pieces = s.Slices(); size(o.pieces) != req.ContentLength {
		return fmt.Errorf("%w: it has not the length that it says", errBody)
	}
	return nil
}

func (o *outgoing) close() {
	if o.body != nil {
		_ = o.body.Close() // it is not read any more
		o.body = nil
	}
}

// again makes the request one that was not sent; false: it cannot.
func (o *outgoing) again(req *http.Request) bool {
	if o.none {
		return true
	}
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	o.close()
	return o.take(body, req) == nil
}

// send writes the request, or has it written where that may take long.
func (o *outgoing) send(req *http.Request, b *body) error {
	room := heads.Get().(*[]byte)
	head := appendHead((*room)[:0], req, o.none)
	keep := func() {
		*room = head[:0]
		heads.Put(room)
	}
	if !o.none && (o.pieces == nil || req.ContentLength > inlineBytes) {
		b.sending = &sending{}
		body := o.body
		o.body = nil // closed where it is sent
		go b.sending.run(b.c, message{head: head, pieces: o.pieces, body: body, length: req.ContentLength}, keep)
		return nil
	}
	defer keep()
	if o.none || req.ContentLength <= copyBytes {
		for _, p := range o.pieces {
			head = append(head, p...)
		}
		_, err := b.c.Write(head)
		return err
	}
	return writeAll(b.c.plain, head, o.pieces)
}

func size(pieces [][]byte) (n int64) {
	for _, p := range pieces {
		n += int64(len(p))
	}
	return n
}

// writeAll writes with as few system calls as there can be.
func writeAll(c net.Conn, head []byte, pieces [][]byte) error {
	all := append(net.Buffers{head}, pieces...)
	_, err := all.WriteTo(c)
	return err
}

// check refuses a request that would not arrive as what it is.
func check(req *http.Request) error {
	host := hostOf(req)
	if !token(req.Method) || host == "" || !visible(host) || !visible(req.URL.RequestURI()) {
		return fmt.Errorf("upstream: %q is no request that can be sent; look at the replica's address", req.URL.Redacted())
	}
	for name, values := range req.Header {
		if !token(name) {
			return fmt.Errorf("upstream: %q is no name of a header", name)
		}
		for _, v := range values {
			if !plain(v) {
				return fmt.Errorf("upstream: the header %s has a control character", name)
			}
		}
	}
	return nil
}

func hostOf(req *http.Request) string {
	if req.Host != "" {
		return req.Host
	}
	return req.URL.Host
}

// visible reports whether s has no spaces and no control characters.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// appendHead appends a request's head.
func appendHead(dst []byte, req *http.Request, none bool) []byte {
	dst = append(append(dst, req.Method...), ' ')
	dst = append(append(dst, req.URL.RequestURI()...), " HTTP/1.1\r\nHost: "...)
	dst = append(append(dst, hostOf(req)...), "\r\n"...)
	for name, values := range req.Header {
		switch textproto.CanonicalMIMEHeaderKey(name) {
		case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Expect", "Upgrade":
			continue // these are ours to say
		}
		for _, v := range values {
			dst = append(append(dst, name...), ": "...)
			dst = append(append(dst, v...), "\r\n"...)
		}
	}
	switch {
	case none && req.Method != http.MethodGet && req.Method != http.MethodHead:
		dst = append(dst, "Content-Length: 0\r\n"...)
	case none:
	case req.ContentLength > 0:
		dst = strconv.AppendInt(append(dst, "Content-Length: "...), req.ContentLength, 10)
		dst = append(dst, "\r\n"...)
	default:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	return append(dst, "\r\n"...)
}
