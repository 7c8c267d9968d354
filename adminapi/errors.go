package adminapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/fabrics"
	"llmgw.io/llmgw/placement/dryrun"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

var (
	// ErrUnsupported says that an agent lacks the feature that was asked for.
	ErrUnsupported = errors.New("adminapi: the agent lacks the feature")
	// ErrAgentFailed says that an agent refused or failed.
	ErrAgentFailed = errors.New("adminapi: the agent failed")
	// ErrNoLog says that a node does not have the log that was asked for.
	ErrNoLog = errors.New("adminapi: there is no such log")
	// ErrBusy says that an agent has as many questions waiting as it may.
	ErrBusy = errors.New("adminapi: too many questions wait for the agent")
	// ErrNoFabric says that two nodes have no network between them that was named.
	ErrNoFabric = errors.New("adminapi: it cannot be tested")
	// ErrDeclared says that the configuration file declares the thing, so that it
	// is read-only here.
	ErrDeclared = errors.New("adminapi: it is declared in the configuration file")
)

// code is a word of the closed list that clients can rely on.
type code string

const (
	codeInvalid         code = "invalid"
	codeUnknownField    code = "unknown_field"
	codeTooLarge        code = "too_large"
	codeUnauthenticated code = "unauthenticated"
	codeForbidden       code = "forbidden"
	codeNotFound        code = "not_found"
	codeExists          code = "exists"
	codeReadOnly        code = "read_only"
	codeConflict        code = "conflict"
	codeStale           code = "stale"
	codeNotWired        code = "not_wired"
	codeUnsupported     code = "unsupported"
	codeAgentFailed     code = "agent_failed"
	codeTimeout         code = "timeout"
	codeRateLimited     code = "rate_limited"
	codeInternal        code = "internal"
)

// refusal is an answer that is not the one that was asked for.
type refusal struct {
	status int
	code   code
	text   string
	// header is set on the answer. Nil: nothing more.
	header http.Header
}

func (r *refusal) Error() string { return r.text }

// refuse makes a refusal with a sentence.
func refuse(status int, c code, format string, args ...any) *refusal {
	return &refusal{status: status, code: c, text: fmt.Sprintf(format, args...)}
}

// invalid refuses what was asked because it is wrong.
func invalid(format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, codeInvalid, format, args...)
}

// missing says that there is no such thing.
func missing(format string, args ...any) *refusal {
	return refuse(http.StatusNotFound, codeNotFound, format, args...)
}

// outcome is what an error of another room means to a caller.
type outcome struct {
	is     error
	status int
	code   code
	// text replaces the error's own words. Empty: those are shown.
	text string
	// log says that the error's own words belong in the log.
	log bool
}

// outcomes is the one table from errors to statuses. The first that matches
// counts; what matches none is our own fault.
func outcomes() []outcome {
	return []outcome{
		{is: catalog.ErrNotFound, status: http.StatusNotFound, code: codeNotFound},
		{is: catalog.ErrExists, status: http.StatusConflict, code: codeExists},
		{is: catalog.ErrReadOnly, status: http.StatusConflict, code: codeReadOnly},
		{is: catalog.ErrStale, status: http.StatusPreconditionFailed, code: codeStale},
		{is: catalog.ErrInUse, status: http.StatusConflict, code: codeConflict},
		{
			is: catalog.ErrNoStore, status: http.StatusNotImplemented, code: codeNotWired,
			text: "this control plane has no store, so a model added or changed here would not survive a restart",
		},
		{is: inventory.ErrNotFound, status: http.StatusNotFound, code: codeNotFound},
		{is: inventory.ErrInvalid, status: http.StatusBadRequest, code: codeInvalid},
		{is: inventory.ErrNoHold, status: http.StatusNotFound, code: codeNotFound},
		{is: inventory.ErrState, status: http.StatusConflict, code: codeConflict},
		{is: inventory.ErrStale, status: http.StatusConflict, code: codeConflict, text: "the node has changed meanwhile; look at it and ask again"},
		{is: dryrun.ErrInvalid, status: http.StatusBadRequest, code: codeInvalid},
		{is: reconciler.ErrNoModel, status: http.StatusNotFound, code: codeNotFound},
		{is: reconciler.ErrNoReplica, status: http.StatusNotFound, code: codeNotFound},
		{is: storage.ErrNotFound, status: http.StatusNotFound, code: codeNotFound},
		{is: storage.ErrExists, status: http.StatusConflict, code: codeExists},
		{is: storage.ErrUsed, status: http.StatusConflict, code: codeConflict},
		{is: storage.ErrExpired, status: http.StatusConflict, code: codeConflict},
		{is: fabrics.ErrNoScanner, status: http.StatusConflict, code: codeUnsupported},
		{is: ErrDeclared, status: http.StatusConflict, code: codeReadOnly},
		{is: ErrUnsupported, status: http.StatusConflict, code: codeUnsupported},
		{is: ErrNoFabric, status: http.StatusConflict, code: codeConflict},
		{is: ErrNoLog, status: http.StatusNotFound, code: codeNotFound},
		{is: ErrBusy, status: http.StatusTooManyRequests, code: codeRateLimited},
		{is: ErrAgentFailed, status: http.StatusBadGateway, code: codeAgentFailed},
		{
			is: auth.ErrMissing, status: http.StatusUnauthorized, code: codeUnauthenticated,
			text: "this needs an admin token; send one as \"Authorization: Bearer llmgw-adm-…\"",
		},
		{
			is: auth.ErrRefused, status: http.StatusUnauthorized, code: codeUnauthenticated,
			text: "the admin token is not valid: it is unknown, revoked or expired; ask an owner for another one",
		},
		{is: context.DeadlineExceeded, status: http.StatusGatewayTimeout, code: codeTimeout, text: "there was no answer in time; ask again"},
		{is: context.Canceled, status: http.StatusServiceUnavailable, code: codeInternal, text: "the control plane is ending, and did not finish this; ask again once it is back"},
		{
			is: reconciler.ErrNotLeading, status: http.StatusServiceUnavailable, code: codeConflict,
			text: "this control plane does not lead, so it takes no orders: ask again in a few seconds, or ask the one that does",
		},
	}
}

// storeOutcomes are those of a store that cannot do what it should. A disk that
// is full is for people to mend, not for us; what else is wrong with it, and
// where, stays in the log.
func storeOutcomes() []outcome {
	return []outcome{
		{is: storage.ErrInvalid, status: http.StatusBadRequest, code: codeInvalid},
		{
			is: storage.ErrFull, status: http.StatusServiceUnavailable, code: codeInternal, log: true,
			text: "the disk that holds the store is full, and nothing was changed; free some space there and ask again",
		},
		{
			is: storage.ErrReadOnly, status: http.StatusServiceUnavailable, code: codeInternal, log: true,
			text: "the store may not be written, and nothing was changed; look at the control plane's log for where it is, and mend its permissions",
		},
		{
			is: storage.ErrUnavailable, status: http.StatusServiceUnavailable, code: codeInternal, log: true,
			text: "the store does not answer; the control plane's log says why, and engines run on meanwhile; ask again in a moment",
		},
		{
			is: storage.ErrClosed, status: http.StatusServiceUnavailable, code: codeInternal,
			text: "the control plane is ending and has closed its store; ask again once it is back",
		},
	}
}

// judge turns any error into what the caller is told. log is true for what
// matches nothing, and for what people have to look at here: its own words go to
// the log.
func judge(err error, id string) (r *refusal, log bool) {
	if errors.As(err, &r) {
		return r, false
	}
	if cs := catalog.Complaints(err); len(cs) > 0 {
		return complaints(cs), false
	}
	var t *auth.ThrottledError
	if errors.As(err, &t) {
		return throttled(t), false
	}
	for _, o := range slices.Concat(outcomes(), storeOutcomes()) {
		if !errors.Is(err, o.is) {
			continue
		}
		text := o.text
		if text == "" {
			text = plain(err)
		}
		r := refuse(o.status, o.code, "%s", text)
		if o.status == http.StatusUnauthorized {
			r.header = http.Header{"Www-Authenticate": {`Bearer realm="llmgw"`}}
		}
		return r, o.log
	}
	return refuse(http.StatusInternalServerError, codeInternal, "something went wrong inside the control plane; its log says what under the id %s", id), true
}

// complaints shows everything that is wrong with a definition at once. One that
// only collides with others is well formed, and a conflict.
func complaints(cs []*catalog.InvalidError) *refusal {
	texts, status, c := make([]string, len(cs)), http.StatusConflict, codeExists
	for i, e := range cs {
		texts[i] = fmt.Sprintf("%s: %s", e.Field, e.Problem)
		if !e.Conflict {
			status, c = http.StatusBadRequest, codeInvalid
		}
	}
	return refuse(status, c, "model %q: %s", cs[0].Model, strings.Join(texts, "; "))
}

func throttled(t *auth.ThrottledError) *refusal {
	wait := strconv.Itoa(int(math.Ceil(t.RetryAfter.Seconds())))
	r := refuse(http.StatusTooManyRequests, codeRateLimited, "too many failed credentials came from this address; try again in %s seconds", wait)
	r.header = http.Header{"Retry-After": {wait}}
	return r
}

// roomPrefix is how errors of our packages begin; people need not know rooms.
var roomPrefix = regexp.MustCompile(`(^|: )(catalog|inventory|placement|reconciler|control|storage|memstore|bunstore|hub|fabrictest|adminapi|auth|fabrics|survey|topology|protocol): `)

// plain is an error in words for people.
func plain(err error) string {
	text := err.Error()
	for roomPrefix.MatchString(text) {
		text = roomPrefix.ReplaceAllString(text, "$1")
	}
	return text
}
