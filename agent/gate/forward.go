package gate

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"llmgw.io/llmgw/router/upstream"
)

// heldBytes is how large a request's body may be to be read before it is sent: it
// can be sent again then, where the engine closed a connection that was kept at
// that very moment. A larger one goes through as it comes, over a new connection.
const heldBytes = 64 << 10

// ServeHTTP lets one request of a router through, or refuses it.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, ok := find(g.list, r.Method, r.RequestURI)
	if !ok {
		refuse(w, http.StatusNotFound, "not_found_error", "this gate lets nothing through to that path by that method")
		return
	}
	if p.work {
		if !g.flight.enter() {
			w.Header()[HeaderDraining] = []string{"1"}
			w.Header()["Retry-After"] = []string{"5"}
			refuse(w, http.StatusServiceUnavailable, "unavailable_error", "this replica is being stopped and takes no new requests; ask another one")
			return
		}
		defer g.flight.leave()
	}
	res, err := g.ask(r, p)
	switch {
	case r.Context().Err() != nil:
		if err == nil {
			_ = res.Body.Close() // nobody is there to read it
		}
		return
	case err != nil:
		refuse(w, http.StatusBadGateway, "server_error", "the engine behind this gate does not answer")
		return
	}
	defer func() { _ = res.Body.Close() }() // the engine is told, where it was not all
	answer(w, res)
}

// ask sends the request to the engine.
func (g *Gate) ask(r *http.Request, p pass) (*http.Response, error) {
	req := (&http.Request{
		Method: p.method, URL: g.urls[p.path], Host: g.cfg.Engine, Header: g.header(r.Header),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(r.Context())
	switch n := r.ContentLength; {
	case n == 0:
		return g.kept.Do("engine", req)
	case n > heldBytes || n < 0:
		req.Body, req.ContentLength = r.Body, n
		return g.fresh.Do("engine", req)
	}
	b := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, b); err != nil {
		return nil, err
	}
	req.Body, req.ContentLength = newHeld(b), r.ContentLength
	req.GetBody = func() (io.ReadCloser, error) { return newHeld(b), nil }
	res, err := g.kept.Do("engine", req)
	req.Body, req.GetBody = nil, nil // the answer holds the request, for as long as a stream lasts
	return res, err
}

// held is a body that lies in memory.
type held struct {
	*bytes.Reader
	b [1][]byte
}

func newHeld(b []byte) *held { return &held{Reader: bytes.NewReader(b), b: [1][]byte{b}} }

// Slices is upstream.Slices'.
func (h *held) Slices() [][]byte { return h.b[:] }

// Close does nothing.
func (h *held) Close() error { return nil }

// header is what the engine is told.
func (g *Gate) header(from http.Header) http.Header {
	h := make(http.Header, 8)
	for _, name := range inward() {
		if v := from[name]; len(v) > 0 {
			h[name] = v
		}
	}
	if g.cfg.EngineKey != "" {
		h["Authorization"] = []string{"Bearer " + g.cfg.EngineKey}
	}
	return h
}

// answer passes an answer on as it comes. What has come at once is sent at once;
// nothing is read ahead of a router that is slow, so the engine waits for it too.
func answer(w http.ResponseWriter, res *http.Response) {
	h := w.Header()
	for name, v := range res.Header {
		if !staysInside(name) {
			h[name] = v
		}
	}
	w.WriteHeader(res.StatusCode)
	body, ok := res.Body.(upstream.Body)
	if !ok {
		return // there is none
	}
	flusher, _ := w.(http.Flusher)
	for {
		piece, more, err := body.Next()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			panic(http.ErrAbortHandler) // the only way to say that this was not all
		}
		if _, err := w.Write(piece); err != nil {
			return
		}
		if !more && flusher != nil {
			flusher.Flush()
		}
	}
}

// refuse answers as engines do.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json; charset=utf-8"}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"error":{"message":"`+message+`","type":"`+kind+`"}}`+"\n")
}
