package adminapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

func TestErrorsBecomeStatuses(t *testing.T) {
	t.Parallel()
	wrong := &catalog.InvalidError{Model: "m", Field: "class", Problem: "there is no such class"}
	taken := &catalog.InvalidError{Model: "m", Field: "name", Problem: "it is taken", Conflict: true}
	cases := []struct {
		err    error
		status int
		code   code
	}{
		{catalog.ErrNotFound, 404, codeNotFound},
		{catalog.ErrExists, 409, codeExists},
		{catalog.ErrReadOnly, 409, codeReadOnly},
		{catalog.ErrStale, 412, codeStale},
		{catalog.ErrInUse, 409, codeConflict},
		{catalog.ErrNoStore, 501, codeNotWired},
		{wrong, 400, codeInvalid},
		{taken, 409, codeExists},
		{errors.Join(taken, wrong), 400, codeInvalid},
		{fmt.Errorf("add: %w", errors.Join(wrong, wrong)), 400, codeInvalid},
		{inventory.ErrNotFound, 404, codeNotFound},
		{inventory.ErrState, 409, codeConflict},
		{inventory.ErrStale, 409, codeConflict},
		{reconciler.ErrNoModel, 404, codeNotFound},
		{reconciler.ErrNoReplica, 404, codeNotFound},
		{storage.ErrNotFound, 404, codeNotFound},
		{storage.ErrExists, 409, codeExists},
		{storage.ErrUsed, 409, codeConflict},
		{storage.ErrExpired, 409, codeConflict},
		{ErrUnsupported, 409, codeUnsupported},
		{ErrBusy, 429, codeRateLimited},
		{ErrAgentFailed, 502, codeAgentFailed},
		{context.DeadlineExceeded, 504, codeTimeout},
		{auth.ErrMissing, 401, codeUnauthenticated},
		{auth.ErrRefused, 401, codeUnauthenticated},
		{&auth.ThrottledError{RetryAfter: 1500 * time.Millisecond}, 429, codeRateLimited},
		{errors.New("dial tcp 10.0.0.1: secret"), 500, codeInternal},
		{ErrDeclared, 409, codeReadOnly},
		{reconciler.ErrNotLeading, 503, codeConflict},
		{context.Canceled, 503, codeInternal},
		{storage.ErrInvalid, 400, codeInvalid},
		{storage.ErrFull, 503, codeInternal},
		{storage.ErrReadOnly, 503, codeInternal},
		{storage.ErrUnavailable, 503, codeInternal},
		{storage.ErrClosed, 503, codeInternal},
		{storage.ErrCorrupt, 500, codeInternal},
		{storage.ErrTampered, 500, codeInternal},
	}
	for _, c := range cases {
		for _, err := range []error{c.err, fmt.Errorf("do it: %w", c.err)} {
			r, log := judge(err, "ID42")
			ours := r.status == 500
			if r.status != c.status || r.code != c.code || r.text == "" || ours && !log {
				t.Errorf("%v: want %d %s, got %d %s %q", err, c.status, c.code, r.status, r.code, r.text)
			}
			if ours && (strings.Contains(r.text, "secret") || !strings.Contains(r.text, "ID42")) {
				t.Errorf("our own words stay in the log, and the id is told; got %q", r.text)
			}
		}
	}
}

// TestStoreTroubleIsTold shows that a caller learns the mend, and the log where.
func TestStoreTroubleIsTold(t *testing.T) {
	t.Parallel()
	r, log := judge(fmt.Errorf("keep model: %w: the disk that holds /srv/llmgw.db is full", storage.ErrFull), "")
	if !strings.Contains(r.text, "free some space") || strings.Contains(r.text, "/srv") || !log {
		t.Errorf("want the mend told and the path in the log, got %q, %t", r.text, log)
	}
}

func TestEveryComplaintIsShown(t *testing.T) {
	t.Parallel()
	err := errors.Join(
		&catalog.InvalidError{Model: "m", Field: "profiles[0].gpu.count", Problem: "it is zero"},
		&catalog.InvalidError{Model: "m", Field: "source", Problem: "it is empty"})
	r, _ := judge(err, "")
	if want := `model "m": profiles[0].gpu.count: it is zero; source: it is empty`; r.text != want {
		t.Errorf("want %q, got %q", want, r.text)
	}
}

func TestWordsAreForPeople(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("keep model %q: %w", "m", fmt.Errorf("bunstore: write: %w", storage.ErrExists))
	if want, got := `keep model "m": write: the row exists already`, plain(err); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}
