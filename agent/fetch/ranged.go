package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/safedial"
)

const (
	// firstPiece is what is asked for first, which most headers fit into; each
	// further piece is four times as long, up to lastPiece.
	firstPiece = 256 << 10
	lastPiece  = 4 << 20
	// mostLooked is the most that is read of one file that is only looked at. Large
	// vocabularies have some ten MB.
	mostLooked = 32 << 20
)

// ranged reads the beginning of a file that is elsewhere, onwards only, each piece
// by a request of its own. A server that knows no ranges answers with the whole
// file, of which no more is read than is needed.
type ranged struct {
	f    *Fetcher
	ctx  context.Context //nolint:containedctx // a reader has no other way to hear of it
	url  string
	size int64 // of the file; -1: nobody says

	buf   []byte // what begins at at
	at    int64
	etag  string
	whole io.ReadCloser // a file that comes whole
	piece int64
}

// errFar means that a header is longer than is looked at.
var errFar = fmt.Errorf("its header is longer than the %d MiB that are looked at", mostLooked>>20)

// open asks for the first piece.
func (r *ranged) open(base string) error {
	r.piece = firstPiece
	resp, err := r.ask(0, firstPiece)
	if err != nil {
		return err
	}
	if t, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); t == "text/html" && resp.StatusCode/100 == 2 {
		_ = resp.Body.Close()
		return failed(protocol.CauseFile, fmt.Sprintf("the source of %s answers with a web page and not with a file; use the address of the file itself", base))
	}
	r.etag = resp.Header.Get("ETag")
	switch resp.StatusCode {
	case http.StatusOK:
		r.size, r.whole = resp.ContentLength, resp.Body
	case http.StatusPartialContent:
		defer resp.Body.Close()
		start, total, ok := contentRange(resp.Header.Get("Content-Range"))
		if !ok || start != 0 {
			return errors.New("the source answers with another part than it was asked for")
		}
		r.size = total
	case http.StatusRequestedRangeNotSatisfiable: // there is not even a first byte
		_ = resp.Body.Close()
		r.size = 0
	default:
		_ = resp.Body.Close()
		return statusOf(resp.StatusCode, base)
	}
	if r.size == 0 {
		return failed(protocol.CauseHash, fmt.Sprintf("%s is empty at its source; the file there is broken or not yet uploaded", base))
	}
	if r.whole != nil {
		return r.take(r.whole, firstPiece, true)
	}
	return r.take(resp.Body, firstPiece, false)
}

func (r *ranged) ask(from, n int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, failed(protocol.CauseFile, fmt.Sprintf("%s is no URL to fetch from", shown(r.url)))
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+n-1))
	resp, err := r.f.do(req)
	if err == nil {
		return resp, nil
	}
	if r.ctx.Err() != nil {
		return nil, r.ctx.Err()
	}
	// An address that is refused and one that does not answer sound alike, so that
	// nobody learns from it what an inner network holds.
	return nil, errors.New(strings.TrimPrefix(safedial.Plain(err).Error(), "safedial: "))
}

// take puts the next n bytes of a body in the place of what was read before. A
// body that is the rest of the file may end sooner; a part of it may not.
func (r *ranged) take(body io.Reader, n int64, rest bool) error {
	r.at += int64(len(r.buf))
	if !rest && r.size >= 0 {
		n = min(n, r.size-r.at)
	}
	buf := make([]byte, n)
	got, err := io.ReadFull(body, buf)
	r.buf = buf[:got]
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case err == nil:
		return nil
	case ended && rest && r.size < 0: // it says nowhere how long it is
		return nil
	case ended && rest && r.at+int64(got) == r.size:
		return nil
	case ended && !rest && r.size < 0:
		return nil
	}
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	return errors.New("the source breaks off before the end that it promised")
}

// more reads the next piece.
func (r *ranged) more() error {
	next := r.at + int64(len(r.buf))
	switch {
	case r.size >= 0 && next >= r.size:
		return io.EOF
	case next >= mostLooked:
		return errFar
	}
	r.piece = min(4*r.piece, lastPiece, mostLooked-next)
	if r.whole != nil {
		if err := r.take(r.whole, r.piece, true); err != nil {
			return err
		}
		return r.ended()
	}
	resp, err := r.ask(next, r.piece)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	start, total, ok := contentRange(resp.Header.Get("Content-Range"))
	if resp.StatusCode != http.StatusPartialContent || !ok || start != next || total != r.size || resp.Header.Get("ETag") != r.etag {
		return errors.New("the source gives pieces that are not of one file")
	}
	if err := r.take(resp.Body, r.piece, false); err != nil {
		return err
	}
	return r.ended()
}

func (r *ranged) ended() error {
	if len(r.buf) == 0 {
		return io.EOF
	}
	return nil
}

// ReadAt reads on from where the last one ended; further back it cannot.
func (r *ranged) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		i := off + int64(n) - r.at
		switch {
		case i < 0:
			return n, errors.New("fetch: a file elsewhere is read backwards")
		case i < int64(len(r.buf)):
			n += copy(p[n:], r.buf[i:])
			continue
		}
		if err := r.more(); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (r *ranged) close() {
	if r.whole != nil {
		_ = r.whole.Close()
	}
}
