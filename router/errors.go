package router

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/storage"
)

// Why an attempt was ended by the router itself.
var (
	errFirstToken = errors.New("router: no content within the limit")
	errIdle       = errors.New("router: the stream fell silent")
	errTotal      = errors.New("router: the answer took too long")
	errOver       = errors.New("router: the exchange is over")
)

// HeaderDraining marks a 503 of a gate whose replica is being stopped: nothing of
// the request has reached the engine, so asking another one costs nothing.
const HeaderDraining = "X-Llmgw-Draining"

// statusClientGone stands in rows for an answer that nobody was there to read.
const statusClientGone = 499

// failure is why a request was not answered, in the client's form.
type failure struct {
	openai.Error
	// status zero is the one of the error's type.
	status  int
	outcome storage.Outcome
	// why is what rows and logs say: a few fixed words, never an engine's text.
	why string
	// retry: another replica might do better. elsewhere: another model might.
	retry, elsewhere bool
	// retryAfter zero: the client is told no time.
	retryAfter time.Duration
	// upstream is the status the engine gave; 0 when it gave none.
	upstream int
	// unreachable: no connection to the replica could be made.
	unreachable bool
	// draining: the replica is being stopped, and nothing of the request has reached
	// its engine.
	draining bool
	// removed: the replica's node was removed from the cluster.
	removed bool
	// full is for how long the engine said that it takes nothing; 0: it did not.
	full time.Duration
}

func (f *failure) code() int {
	if f.status != 0 {
		return f.status
	}
	return f.Type.Status()
}

// blames reports whether the replica is at fault, and better not asked for a
// while. One that is only full, or leaves, is not.
func (f *failure) blames() bool {
	return !f.leaves() && (f.status == http.StatusGatewayTimeout || f.retry && f.upstream != http.StatusTooManyRequests)
}

// leaves reports whether the replica is on its way out, which is no trouble of its.
func (f *failure) leaves() bool { return f.draining || f.removed }

// refused is an answer of the router's own.
func refused(t openai.ErrorType, code, message string) *failure {
	return &failure{Error: openai.Error{Type: t, Message: message, Code: code}, outcome: storage.OutcomeRefused, why: code}
}

// gone is a client that went away.
func gone() *failure {
	return &failure{
		Error:  openai.Error{Type: openai.ServerError, Message: "The client went away before the answer was whole."},
		status: statusClientGone, outcome: storage.OutcomeCancelled, why: "cancelled",
	}
}

// broken is a replica that failed without saying why.
func broken(why, message string) *failure {
	return &failure{
		Error:   openai.Error{Type: openai.Upstream, Message: message, Code: "upstream_failed"},
		outcome: storage.OutcomeUpstreamError, why: why, retry: true, elsewhere: true,
	}
}

// tooSlow is a limit of ours that an attempt ran into. The time is spent, so
// nobody else is tried.
func tooSlow(cause error) *failure {
	f := broken("timeout", "The replica did not answer in time; try a shorter prompt, or again later.")
	switch {
	case errors.Is(cause, errIdle):
		f.why, f.Message = "idle", "The replica fell silent in the middle of its answer; try again."
	case errors.Is(cause, errTotal):
		f.why, f.Message = "total", "The answer took longer than this router allows; ask for fewer tokens."
	}
	f.status, f.Code, f.retry, f.elsewhere = http.StatusGatewayTimeout, "timeout", false, false
	return f
}

// full says that there is no room now.
func full(code, message string, after time.Duration) *failure {
	f := refused(openai.Overloaded, code, message)
	f.retryAfter, f.elsewhere = after, true
	return f
}

// engineFailure turns an engine's error into the client's. secrets are what no
// client may see, whatever the engine says.
func engineFailure(status int, header http.Header, body []byte, secrets ...string) *failure {
	e, ok := openai.ReadError(body)
	if !ok {
		e.Message = "The replica answered " + strconv.Itoa(status) + " without saying why."
	}
	answer, retry := e.Translate(status)
	answer.Message = scrub(answer.Message, secrets)
	answer.Param = scrub(answer.Param, secrets)
	f := &failure{
		Error: answer, outcome: storage.OutcomeUpstreamError, upstream: status, retry: retry, elsewhere: retry,
		why: "status " + strconv.Itoa(status),
	}
	if status == http.StatusServiceUnavailable && header.Get(HeaderDraining) != "" {
		f.draining, f.why = true, "draining"
	}
	if answer.Type == openai.RateLimit || answer.Type == openai.Overloaded {
		f.full = readRetryAfter(header, time.Now())
		f.retryAfter = max(f.full, time.Second)
	}
	return f
}

// readRetryAfter takes an engine's Retry-After, in seconds or as a date (RFC
// 9110, section 10.2.3), within reason; zero when there is none that says
// anything.
func readRetryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	var after time.Duration
	if n, err := strconv.Atoi(value); err == nil {
		after = time.Duration(min(n, int(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		after = at.Sub(now)
	}
	return min(max(after, 0), maxRetryAfter)
}

func scrub(s string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, storage.Redacted)
		}
	}
	return s
}
