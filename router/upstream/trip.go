package upstream

import (
	"context"
	"errors"
	"net/http"
)

// errClosed is what reading a body gives after its end was not waited for.
var errClosed = errors.New("upstream: the body is closed")

// maxInterim is how many answers may come before the answer.
const maxInterim = 8

// trip is one request on its way.
type trip struct {
	peer *peer
	req  *http.Request
	at   place
	out  outgoing
}

// run carries the request over an idle connection, or over a new one where there
// is none or where it was closed at that very moment.
func (t *trip) run() (*http.Response, error) {
	if err := t.out.init(t.req); err != nil {
		t.out.close()
		return nil, err
	}
	defer t.out.close()
	if t.req.Context().Err() != nil {
		return nil, context.Cause(t.req.Context())
	}
	if c := t.peer.take(t.at); c != nil {
		res, stale, err := t.over(c)
		if !stale || !t.out.again(t.req) {
			return res, err
		}
	}
	c, err := t.peer.dial(t.req.Context(), t.at)
	if err != nil {
		return nil, t.cause(err)
	}
	res, _, err := t.over(c)
	return res, err
}

// cause is why an exchange ended: the context's end, where it has one.
func (t *trip) cause(err error) error {
	if t.req.Context().Err() != nil {
		return context.Cause(t.req.Context())
	}
	return err
}

// over carries the request over one connection. stale tells that it had been
// used before and nothing came of it.
func (t *trip) over(c *conn) (res *http.Response, stale bool, err error) {
	b := &body{c: c, stop: context.AfterFunc(t.req.Context(), c.abort)}
	sent := t.out.send(t.req, b)
	h, touched, err := t.answer(c)
	if err == nil && h.status == http.StatusSwitchingProtocols {
		err, touched = ErrSwitched, true
	}
	if err != nil {
		// A request that could not be sent may have been answered all the same; where
		// it was not, that it could not be sent is the reason.
		if sent == nil {
			sent = b.sending.failure()
		}
		if sent != nil {
			err = sent
		}
		stale = c.used && !touched && t.req.Context().Err() == nil && !errors.Is(err, errBody)
		b.release(false)
		return nil, stale, t.cause(err)
	}
	if sent != nil {
		h.keep = false
	}
	return t.response(&h, b), false, nil
}

// answer reads heads until the one that is no interim answer.
func (t *trip) answer(c *conn) (h head, touched bool, err error) {
	for range maxInterim {
		h, err = c.readHead(&touched)
		if err != nil || h.status/100 != 1 || h.status == http.StatusSwitchingProtocols {
			return h, touched, err
		}
	}
	return h, touched, errMalformed
}

// readHead reads the next head. touched is set when something has come.
func (c *conn) readHead(touched *bool) (head, error) {
	from := 0
	for {
		b := c.in.buffered()
		*touched = *touched || len(b) > 0
		if !begins(b, "HTTP/1.") {
			return head{}, errMalformed
		}
		end, next := headEnd(b, from)
		switch {
		case end > maxHead || end == 0 && len(b) > maxHead:
			return head{}, errNoRoom
		case end > 0:
			c.in.from += end
			return parseHead(b[:end])
		}
		from = next
		if err := c.in.more(maxHead + 1); err != nil {
			return head{}, err
		}
	}
}

// begins reports whether b may become something that begins with s.
func begins(b []byte, s string) bool {
	n := min(len(b), len(s))
	return string(b[:n]) == s[:n]
}

func (t *trip) response(h *head, b *body) *http.Response {
	res := &http.Response{
		Status: h.text, StatusCode: h.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: h.minor,
		Header: h.header, ContentLength: h.length, Close: !h.keep, Request: t.req,
	}
	if h.minor == 0 {
		res.Proto = "HTTP/1.0"
	}
	if h.chunked {
		delete(h.header, "Transfer-Encoding")
		res.TransferEncoding = []string{"chunked"}
	}
	b.begin(h)
	if t.req.Method == http.MethodHead || h.status == http.StatusNoContent || h.status == http.StatusNotModified {
		b.stage, b.keep = ended, h.keep // whatever its headers say
	}
	if b.stage == ended {
		_ = b.over() // it is io.EOF
		res.Body = http.NoBody
		if res.ContentLength < 0 {
			res.ContentLength = 0
		}
		return res
	}
	res.Body = b
	return res
}
