package storagetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// Run tests a whole store. open returns a fresh and empty one, which the suite
// closes; it may be called from many tests at once.
func Run(t *testing.T, open func(t *testing.T) storage.Store) {
	for _, area := range []struct {
		name string
		test func(t *testing.T, open Opener)
	}{
		{"models", testModels},
		{"nodes", testNodes},
		{"holds", testHolds},
		{"enrolment", testEnrolment},
		{"join tokens", testJoinTokens},
		{"admin tokens", testAdminTokens},
		{"keys", testKeys},
		{"usage", testUsage},
		{"audit", testAudit},
		{"leases", testLeases},
		{"assignments", testAssignments},
		{"values", testValues},
		{"lifecycle", testLifecycle},
		{"concurrency", testConcurrency},
	} {
		t.Run(area.name, func(t *testing.T) {
			t.Parallel()
			area.test(t, func(t *testing.T) storage.Store {
				t.Helper()
				s := open(t)
				t.Cleanup(func() {
					if err := s.Close(); err != nil && !errors.Is(err, storage.ErrClosed) {
						t.Errorf("close the store: %v", err)
					}
				})
				return s
			})
		})
	}
}

// Opener returns a fresh and empty store that the suite closes.
type Opener = func(t *testing.T) storage.Store

// ann is who acts in the tests.
func ann() inventory.Author {
	return inventory.Author{Principal: "token:ann", Claimed: "ann", Reason: "because", RequestID: "req-1"}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, want, got error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("want an error that matches %q, got %v", want, got)
	}
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (- want, + got):\n%s", what, diff)
	}
}

// moment is a time with nanoseconds, in a zone that is not UTC.
func moment() time.Time {
	return time.Date(2026, 3, 29, 2, 30, 0, 123456789, time.FixedZone("east", 2*3600))
}

// recent fails unless a time was set just now, by a clock that may differ by an
// hour at most, and is in UTC.
func recent(t *testing.T, what string, at time.Time) {
	t.Helper()
	if d := time.Since(at).Abs(); at.IsZero() || d > time.Hour || at.Location() != time.UTC {
		t.Errorf("%s: want a time of now in UTC, got %v", what, at)
	}
}

// audits counts events, so that a test can show what a write has noted.
func audits(t *testing.T, s storage.Store) []storage.AuditEvent {
	t.Helper()
	return must(s.ListAudit(t.Context(), storage.AuditQuery{Limit: 10000}))(t)
}

// noted runs a write and fails unless it was noted as exactly one event, which
// it returns.
func noted(t *testing.T, s storage.Store, write func() error) storage.AuditEvent {
	t.Helper()
	before := len(audits(t, s))
	ok(t, write())
	after := audits(t, s)
	if len(after) != before+1 {
		t.Fatalf("want one audit event for the write, got %d", len(after)-before)
	}
	return after[0]
}

// unnoted runs what must leave no event, whether it succeeds or not, and returns
// its error.
func unnoted(t *testing.T, s storage.Store, write func() error) error {
	t.Helper()
	before := len(audits(t, s))
	err := write()
	if n := len(audits(t, s)) - before; n != 0 {
		t.Errorf("want no audit event, got %d", n)
	}
	return err
}

// event compares what matters of an event: everything but its place, its time
// and its hash.
func event(t *testing.T, want, got storage.AuditEvent) {
	t.Helper()
	if got.Seq < 1 || got.Hash == "" {
		t.Errorf("want a place in the chain, got number %d and hash %q", got.Seq, got.Hash)
	}
	recent(t, "the event's time", got.At)
	got.Seq, got.Hash, got.At = 0, "", time.Time{}
	equal(t, "audit event", want, got)
}
