package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/safedial"
)

// answer is a server's answer to a question for a file.
type answer struct {
	body   io.ReadCloser
	offset int64 // where the body begins
	total  int64 // of the whole file; -1: the server does not say
	etag   string
	cancel context.CancelCauseFunc
	timer  *time.Timer
	// came counts bytes since the timer was last set.
	came atomic.Int64
}

// errStall means that no byte came for too long, or too few.
var errStall = errors.New("no byte came for too long")

// retryAfter is a refusal that may be over later.
type retryAfter struct {
	status int
	wait   time.Duration
}

func (e *retryAfter) Error() string { return fmt.Sprintf("the server answers %d", e.status) }

// ask asks for a file from offset on. It restarts from the beginning where the
// server cannot go on, or has another file than the part is of.
func (d *download) ask(ctx context.Context, url string, offset int64, known note) (*answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &answer{cancel: cancel}
	a.watch(d.f.cfg.Stall, d.f.cfg.MinRate)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		a.close()
		return nil, failed(protocol.CauseFetch, fmt.Sprintf("%s is no URL to fetch from", shown(url)))
	}
	// Compressed bytes could not be gone on with in the middle.
	req.Header.Set("Accept-Encoding", "identity")
	strong := known.ETag != "" && !strings.HasPrefix(known.ETag, "W/")
	if offset > 0 && (strong || d.file.sha256 != "") {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		if strong {
			req.Header.Set("If-Range", known.ETag)
		}
	} else {
		offset = 0
	}
	resp, err := d.f.do(req) //nolint:bodyclose // the answer owns it, and close closes it
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errStall) {
			err = cause
		}
		a.close()
		return nil, d.unreachable(err)
	}
	a.body, a.etag = resp.Body, resp.Header.Get("ETag")
	if err := d.judge(a, resp, offset, known); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// judge reads the head of the answer.
func (d *download) judge(a *answer, resp *http.Response, offset int64, known note) error {
	base := path.Base(d.file.name)
	switch s := resp.StatusCode; {
	case s == http.StatusOK:
		a.offset, a.total = 0, resp.ContentLength
	case s == http.StatusPartialContent && offset > 0:
		start, total, ok := contentRange(resp.Header.Get("Content-Range"))
		changed := known.ETag != "" && a.etag != "" && a.etag != known.ETag
		if !ok || start != offset || changed {
			d.drop()
			return errors.New("the file has changed at its source; it is fetched from the start")
		}
		a.offset, a.total = start, total
	case s == http.StatusRequestedRangeNotSatisfiable:
		d.drop()
		return errors.New("the part is longer than the file at its source; it is fetched from the start")
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		return failed(protocol.CauseFetch, fmt.Sprintf("the source of %s answers %d: it wants a token that is missing, or a licence that was not accepted; give a source that this node may read", base, s))
	case s == http.StatusNotFound || s == http.StatusGone:
		return failed(protocol.CauseFetch, fmt.Sprintf("the source of %s answers %d: there is no such file; check the source in the definition", base, s))
	case s == http.StatusTooManyRequests || s == http.StatusRequestTimeout || s >= 500:
		return &retryAfter{status: s, wait: retryIn(resp.Header.Get("Retry-After"))}
	default:
		return failed(protocol.CauseFetch, fmt.Sprintf("the source of %s answers %d, which is no file; check the source in the definition", base, s))
	}
	if t, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); t == "text/html" {
		return failed(protocol.CauseFetch, fmt.Sprintf("the source of %s answers with a web page and not with a file; it may be a page to sign in: use the address of the file itself", base))
	}
	return nil
}

// unreachable sorts errors of the connection. The policy's refusals are final;
// networks come back.
func (d *download) unreachable(err error) error {
	var final *Error
	if errors.As(err, &final) {
		return err
	}
	if text, refused := policyRefusal(err); refused {
		return failed(protocol.CauseFetch, text)
	}
	return safedial.Plain(err)
}

// watch breaks the answer off when a span brings fewer bytes than a rate. A
// server that sends a byte now and then would else keep a download for ever.
func (a *answer) watch(span time.Duration, rate int64) {
	least := max(1, int64(float64(rate)*span.Seconds()))
	var again atomic.Pointer[time.Timer]
	a.timer = time.AfterFunc(span, func() {
		if a.came.Swap(0) < least {
			a.cancel(errStall)
			return
		}
		if t := again.Load(); t != nil {
			t.Reset(span)
		}
	})
	again.Store(a.timer)
}

// read reads on and counts.
func (a *answer) read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	a.came.Add(int64(n))
	return n, err
}

func (a *answer) close() {
	a.timer.Stop()
	a.cancel(nil)
	if a.body != nil {
		_ = a.body.Close()
	}
}

// contentRange reads "bytes 100-199/200"; total is -1 for "*".
func contentRange(s string) (start, total int64, ok bool) {
	s, ok = strings.CutPrefix(s, "bytes ")
	span, all, ok2 := strings.Cut(s, "/")
	first, _, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, false
	}
	start, err := strconv.ParseInt(first, 10, 64)
	if err != nil || start < 0 {
		return 0, 0, false
	}
	if all == "*" {
		return start, -1, true
	}
	total, err = strconv.ParseInt(all, 10, 64)
	return start, total, err == nil && total > start
}

// retryIn reads Retry-After in seconds, up to a minute: longer waits are ours
// to choose.
func retryIn(s string) time.Duration {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n)*time.Second, time.Minute)
}
