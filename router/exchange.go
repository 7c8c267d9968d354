package router

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/router/steer"
	"llmgw.io/llmgw/storage"
)

// exchange is one request on its way. It belongs to the handler's goroutine.
type exchange struct {
	r     *Router
	w     http.ResponseWriter
	req   *http.Request
	ep    endpoint
	start time.Time
	addr  netip.Addr
	out   client
	span  trace.Span

	// stranger requests leave no row.
	stranger bool
	key      *storage.Key
	body     *buffer
	asked    openai.Request
	entry    *catalog.Entry
	price    *catalog.Price // of the model that is asked; nil: none

	row     storage.Request
	settled bool
	// rest is a stream whose first bytes are sent; nil: there is none.
	rest *relay
	// shown: the client has seen content, so nobody else may be asked.
	shown bool
	tried []string
	began time.Time // of the first attempt; zero before
	// What pick fills anew each time; nil before.
	*scratch
	place place
	// full is when the first of the replicas takes something again, where all
	// have said that they do not; zero otherwise.
	full time.Time
	// The attempt as steered knows it, and what the engine said of it.
	steered *steering
	ticket  steer.Ticket
	found   steer.Found
	// unwished: replicas are not asked for usage that only we want.
	unwished bool
}

// begin makes an exchange and gives it its id, which every answer carries.
func (r *Router) begin(w http.ResponseWriter, req *http.Request, ep endpoint) *exchange {
	x := &exchange{r: r, w: w, req: req, ep: ep, start: time.Now(), addr: clientAddr(req, r.cfg.TrustedProxies)}
	x.row.ID = newRequestID(x.start)
	x.row.At = x.start.UTC().Round(0)
	x.row.Endpoint = ep.name
	if own := req.Header.Get("X-Request-Id"); sane(own) {
		x.row.Tags = map[string]string{"client_request_id": own}
	}
	w.Header()["X-Request-Id"] = []string{x.row.ID}
	x.out.init(w)
	r.spans.begin(x)
	return x
}

// end gives back what the exchange held. A panic on its way through is the one
// that cuts the connection, and the row is written already.
func (x *exchange) end() {
	x.letGo()
	x.endSpan()
}

// letGo gives back what only another attempt would need: a stream may last for
// long.
func (x *exchange) letGo() {
	x.body.release()
	x.body = nil
	if x.scratch != nil {
		scratches.Put(x.scratch)
		x.scratch = nil
	}
}

// fail ends the exchange with an error: as an answer, as an event of a stream
// whose status is spent, or by cutting off an answer that has begun.
func (x *exchange) fail(f *failure) {
	x.row.Status, x.row.Outcome = f.code(), f.outcome
	if x.out.begun() && f.outcome != storage.OutcomeCancelled {
		x.row.Status = http.StatusOK // it was sent before the trouble came
	}
	if x.shown && f.outcome == storage.OutcomeUpstreamError {
		x.row.Outcome = storage.OutcomeUpstreamAborted
	}
	x.settle(f.why)
	switch {
	case f.outcome == storage.OutcomeCancelled:
		x.out.close()
	case x.out.events():
		x.out.last(f.AppendEvent(nil))
	case x.out.begun():
		x.out.close()
		panic(http.ErrAbortHandler) // the only way to tell the client that this was not all
	default:
		if f.retryAfter > 0 {
			x.w.Header().Set("Retry-After", strconv.Itoa(int((f.retryAfter+time.Second-1)/time.Second)))
		}
		if f.code() == http.StatusUnauthorized {
			x.w.Header().Set("Www-Authenticate", "Bearer")
		}
		x.json(f.code(), f.Append(nil))
	}
}

// streams reports whether the client waits for a stream.
func (x *exchange) streams() bool { return x.asked.Stream && x.ep.streams }

// beat has the client of a stream hear a comment after so much silence, and
// returns when to come again.
func (x *exchange) beat(now time.Time) time.Duration {
	return x.out.beat(x.r.cfg.Limits.Heartbeat, now)
}

// lost reports whether the client is there no more.
func (x *exchange) lost() bool { return x.req.Context().Err() != nil }

// unread says why a body could not be read.
func (x *exchange) unread(err error) *failure {
	var tooLong *http.MaxBytesError
	switch {
	case errors.Is(err, errTooLarge) || errors.As(err, &tooLong):
		x.w.Header().Set("Connection", "close")
		f := refused(openai.InvalidRequest, "request_too_large",
			"The request is larger than "+strconv.FormatInt(x.r.cfg.Limits.Body, 10)+" bytes, the most that is taken here; send less.")
		f.status = http.StatusRequestEntityTooLarge
		return f
	case x.lost() && !errors.Is(err, os.ErrDeadlineExceeded): // a slow client counts as lost too
		return gone()
	}
	x.w.Header().Set("Connection", "close")
	f := refused(openai.InvalidRequest, "body_unreadable", "The body did not come whole; send it again.")
	return f
}

// unscanned turns what is wrong with a body into the client's error.
func unscanned(err error) *failure {
	wrong, ok := errors.AsType[*openai.RequestError](err)
	if !ok {
		return refused(openai.InvalidRequest, "invalid_body", "The body cannot be served.")
	}
	f := refused(openai.InvalidRequest, "", "")
	f.Error = wrong.Answer()
	f.why = "invalid body"
	return f
}

const idDigits = "0123456789abcdefghjkmnpqrstvwxyz"

// newRequestID makes an id that sorts by time: 10 digits of milliseconds and 16
// random ones, in base32.
func newRequestID(now time.Time) string {
	var b [4 + 26]byte
	copy(b[:], "req_")
	ms := uint64(now.UnixMilli())
	for i := 13; i >= 4; i-- {
		b[i] = idDigits[ms&31]
		ms >>= 5
	}
	hi, lo := rand.Uint64(), rand.Uint64()
	for i := 14; i < 22; i++ {
		b[i], b[i+8] = idDigits[hi&31], idDigits[lo&31]
		hi, lo = hi>>5, lo>>5
	}
	return string(b[:])
}

// sane reports whether a client's own id may be kept.
func sane(id string) bool {
	if id == "" || len(id) > 128 || strings.HasPrefix(id, "sk-") || strings.Contains(id, keyStart) {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("._:-", rune(c)) {
			return false
		}
	}
	return true
}
