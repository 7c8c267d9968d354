package router

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/storage"
)

// errorBytes is how much is read of an engine's error.
const errorBytes = 64 << 10

// route finds replicas and asks them until one has answered: those of the model,
// then those of its fallbacks, each model once. A fallback's own fallbacks are
// not followed, so that no circle is ever walked.
func (x *exchange) route() *failure {
	x.r.retries.earn()
	f := x.ask(goal{entry: x.entry, name: x.name()})
	for _, name := range x.entry.Model.Fallbacks {
		if f == nil || !f.elsewhere || x.shown || x.lost() || x.noFallback() {
			break
		}
		entry, ok := x.r.cfg.Models.Index().Resolve(name)
		if !ok || entry.Model.Name == x.entry.Model.Name || !x.mayUse(name, entry) {
			continue
		}
		f = x.ask(goal{entry: entry, name: name})
	}
	return f
}

// HeaderFallback lets a client ask for the model it names and no other: "off".
// Any other value, and none, allow what the model's definition names.
const HeaderFallback = "X-Llmgw-Fallback"

func (x *exchange) noFallback() bool {
	return strings.EqualFold(x.req.Header.Get(HeaderFallback), "off")
}

// ask carries the request to one model, trying several of its replicas where the
// client has seen nothing yet.
func (x *exchange) ask(g goal) *failure {
	d := x.r.demands.get(g.model())
	d.lastAsked.Store(time.Now().UnixNano())
	x.tried = x.tried[:0]
	x.setUnwished(false)
	b, f := x.await(&g, d)
	if f != nil {
		return f
	}
	for tries := 0; ; {
		f = x.attempt(g, d, b)
		if x.wishRefused(f) {
			f = x.attempt(g, d, b)
		}
		if f == nil || !f.retry || x.shown {
			return f
		}
		if !f.leaves() { // each of those is met but once, and was not troubled
			tries++
		}
		if tries > x.r.cfg.Limits.Retries {
			return f
		}
		if b = x.pick(g, d); b == nil {
			return f
		}
		if !f.leaves() && !x.r.retries.spend() {
			x.over(false)
			return f
		}
	}
}

// attempt asks one replica and forwards its answer, or of a stream what comes
// first; see rest. What it counts as in flight ends with it, whatever the end is.
func (x *exchange) attempt(g goal, d *demand, b *Backend) *failure {
	t := &try{x: x, g: g, b: b, d: d, p: x.r.replicas.get(b.ID)}
	t.p.inFlight.Add(1)
	d.inFlight.Add(1)
	t.p.lastUsed.Store(time.Now().UnixNano())
	d.health.began(b.ID, time.Now())
	defer t.leave()
	x.note(g, b)
	ctx, cancel := context.WithCancelCause(x.req.Context())
	t.w = newWatch(cancel, x.r.cfg.Limits.FirstToken, x.began.Add(x.r.cfg.Limits.Total))
	ctx, t.span = x.r.spans.attempt(ctx, g, b, x.ep.name)
	f := t.begin(ctx)
	if x.rest == nil {
		t.judge(f)
	}
	return f
}

// begin asks, unless the node was removed since it was chosen.
func (t *try) begin(ctx context.Context) *failure {
	if t.p.asked.enter(t) && !t.x.r.lists(t.g.model(), t.b.ID) {
		return removed()
	}
	return t.do(ctx)
}

// judge takes note of how the attempt ended.
func (t *try) judge(f *failure) {
	t.close()
	t.over(t.d, f)
	at := &t.x.row.Attempts[len(t.x.row.Attempts)-1]
	if f != nil {
		at.Error = f.why
		t.failed(t.x.req.Context(), f)
	}
	endAttempt(t.span, at)
	t.ok = f == nil
}

// leave ends what is counted as in flight, unless the rest of a stream is to come.
func (t *try) leave() {
	if t.x.rest != nil {
		return
	}
	t.close() // after a panic
	if t.w != nil {
		t.w.done()
	}
	t.x.over(t.ok)
	t.p.lastUsed.Store(time.Now().UnixNano())
	t.d.inFlight.Add(-1)
	t.p.inFlight.Add(-1)
	t.p.asked.leave(t)
}

// close ends the replica's answer; what was not read of it is not waited for.
func (t *try) close() {
	if t.answered != nil {
		_ = t.answered.Close() // it was read to its end, or is of no use
		t.answered = nil
	}
}

// note puts the attempt into the row.
func (x *exchange) note(g goal, b *Backend) {
	if x.began.IsZero() {
		x.began = time.Now()
	}
	x.tried = append(x.tried, b.ID)
	x.row.Replica, x.row.ServedModel, x.price = b.ID, string(g.billed()), g.entry.Model.Price
	x.row.Attempts = append(x.row.Attempts, storage.Attempt{Replica: b.ID})
	if g.entry.Model.Name != x.entry.Model.Name {
		x.row.Attempts[len(x.row.Attempts)-1].Model = string(g.model())
	}
}

// failed tells whoever wants to know.
func (t *try) failed(ctx context.Context, f *failure) {
	r := t.x.r
	r.seen.failed(t.g.model(), f.why)
	if f.blames() {
		r.statics.failed(t.b)
		r.log.LogAttrs(ctx, slog.LevelDebug, "a replica failed a request", slog.String("model", string(t.g.model())),
			slog.String("replica", t.b.ID), slog.String("why", f.why))
	}
}

// try is one attempt while it runs.
type try struct {
	x *exchange
	g goal
	b *Backend
	d *demand
	p *replica
	w *watch

	span     trace.Span
	answered io.Closer // the body; nil: none yet, or closed
	ok       bool      // it ended well
	first    time.Time // when its first content came; zero: none has
}

func (t *try) do(ctx context.Context) *failure {
	u, err := t.p.url(t.b, t.x.ep.path)
	if err != nil {
		return broken("bad address", "The replica cannot be reached; ask the operator to look at its address.")
	}
	if t.x.streams() {
		t.x.out.comments()
		t.w.beats(t.x.beat) // an engine may say nothing, no header either, before its first token
	}
	res, err := t.x.r.cfg.Upstream.Do(t.b.ID, t.request(ctx, u)) //nolint:bodyclose // close does
	if err != nil {
		f := t.interrupted("unreachable", "The replica cannot be reached; try again in a moment.")
		op, ok := errors.AsType[*net.OpError](err)
		f.unreachable = f.retry && ok && op.Op == "dial"
		return f
	}
	t.answered = res.Body
	t.x.row.Attempts[len(t.x.row.Attempts)-1].Status = res.StatusCode
	switch {
	case res.StatusCode/100 != 2:
		return t.engineError(res)
	case isEncoded(res.Header):
		return broken("encoded", "The replica answered in compressed bytes; ask the operator to look at it.")
	case t.x.ep.streams && isEvents(res.Header.Get("Content-Type")):
		return t.relay(res)
	case !t.x.out.noComments():
		// A comment has told the client already that events would come.
		return broken("no stream", "The replica did not answer with a stream; ask again without one.")
	}
	return t.answer(res)
}

// request is what the replica is sent.
func (t *try) request(ctx context.Context, u *url.URL) *http.Request {
	pieces := t.x.bodyFor(t.g.served(t.b))
	from := t.x.body
	body := from.send(pieces)
	return (&http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Header: t.header(ctx), Body: body, ContentLength: body.length(),
		GetBody: func() (io.ReadCloser, error) { return from.send(pieces), nil },
		Proto:   "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
}

// interrupted says why an exchange with a replica ended early: the client went
// away, a limit of ours was reached, or the replica failed.
func (t *try) interrupted(why, message string) *failure {
	if t.x.lost() {
		return gone()
	}
	switch cause := t.w.stopped(); {
	case errors.Is(cause, errRemoved):
		return removed()
	case cause != nil:
		return tooSlow(cause)
	}
	return broken(why, message)
}

func (t *try) engineError(res *http.Response) *failure {
	body, err := io.ReadAll(io.LimitReader(res.Body, errorBytes))
	if err != nil && t.x.lost() {
		return gone()
	}
	return engineFailure(res.StatusCode, res.Header, body, t.secrets()...)
}

// secrets are what an engine may repeat and no client may see.
func (t *try) secrets() []string {
	return []string{t.b.Key, t.b.base(), t.b.Address}
}

// header is what a replica is told: our own, and of the client's only the trace.
// Its key, its cookies and its encodings are no business of an engine.
func (t *try) header(ctx context.Context) http.Header {
	h := make(http.Header, 8)
	h["Content-Type"] = []string{"application/json"}
	h["Accept-Encoding"] = []string{"identity"} // compressed events would come late
	h["User-Agent"] = []string{"llmgw"}
	h["X-Request-Id"] = []string{t.x.row.ID}
	// Present and without a value, it lets net/http send the request again on a
	// fresh connection when the engine closed the old one at that very moment.
	h["Idempotency-Key"] = nil
	if t.b.Key != "" {
		h["Authorization"] = []string{"Bearer " + t.b.Key}
	}
	traceHeader(ctx, t.span, t.x.req.Header, h)
	return h
}

// bodyFor is the body as a replica gets it that serves under that name, with the
// adapter at that place: in pieces, since a long prompt should be there once.
// Nil: it is as the client sent it.
func (x *exchange) bodyFor(served string, adapter int) [][]byte {
	e := x.edits(served, adapter)
	if e.Model == "" && e.Adapter == 0 && x.asked.Present()&e.Strip == 0 && (!e.IncludeUsage || x.asked.IncludeUsage) {
		return nil
	}
	return openai.Pieces(nil, x.body.b, &x.asked, e)
}

// isEncoded reports whether an engine compressed its answer though plain bytes
// were asked for: nobody here could read it, nor would the client be told.
func isEncoded(h http.Header) bool {
	e := h.Get("Content-Encoding")
	return e != "" && !strings.EqualFold(e, "identity")
}

func isEvents(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}
