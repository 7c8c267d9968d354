package pki_test

import (
	"math"
	"testing"
	"time"

	"llmgw.io/llmgw/internal/pki"
)

func TestRenewAt(t *testing.T) {
	t.Parallel()
	n := sign(t, newCA(t, "prod").SignNode, "a1", start, 30*time.Hour)
	for _, c := range []struct {
		jitter float64
		want   time.Duration
	}{
		{0, 20 * time.Hour},
		{1, 23 * time.Hour},
		{-1, 17 * time.Hour},
		{0.5, 21*time.Hour + 30*time.Minute},
		{7, 23 * time.Hour},
		{-7, 17 * time.Hour},
		{math.NaN(), 17 * time.Hour},
		{math.Inf(1), 23 * time.Hour},
	} {
		if got := pki.RenewAt(n.cert, c.jitter).Sub(start); got != c.want {
			t.Errorf("jitter %v: want %s, got %s", c.jitter, c.want, got)
		}
	}
}

// A chain of ten certificates, each made when the one before asks for it, never has a gap.
func TestTenRenewals(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod")
	now := start
	n := sign(t, ca.SignNode, "a1", now, time.Minute)
	for i := range 10 {
		now = pki.RenewAt(n.cert, float64(i%3-1))
		if _, err := ca.Trust().VerifyPeer(n.chain(), now, 0); err != nil {
			t.Fatalf("renewal %d: %v", i, err)
		}
		n = sign(t, ca.SignNode, "a1", now, time.Minute)
	}
}

// Removal and a new enrolment may fall within one second, which is as fine as
// certificates tell time.
func TestRevocationWithinASecond(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod")
	for _, ms := range []int{0, 1, 300, 999} {
		issued := start.Add(time.Duration(ms) * time.Millisecond)
		revoked := pki.RevocationTime(issued.Add(time.Millisecond))
		again := pki.IssueTime(issued.Add(2*time.Millisecond), revoked)

		before := sign(t, ca.SignNode, "a1", issued, 0)
		after := sign(t, ca.SignNode, "a1", again, 0)
		if !pki.Revoked(pki.IssuedAt(before.cert), revoked) {
			t.Errorf("at %d ms: the old certificate lives on", ms)
		}
		if pki.Revoked(pki.IssuedAt(after.cert), revoked) {
			t.Errorf("at %d ms: the new certificate is revoked", ms)
		}
		if _, err := ca.Trust().VerifyPeer(after.chain(), issued, 0); err != nil {
			t.Errorf("at %d ms: the new certificate is not good at once: %v", ms, err)
		}
	}
	if pki.Revoked(start, time.Time{}) {
		t.Error("revoked without a revocation")
	}
	if got := pki.IssueTime(start, time.Time{}); !got.Equal(start) {
		t.Errorf("want %s, got %s", start, got)
	}
	if got := pki.IssueTime(start, start.Add(-time.Hour)); !got.Equal(start) {
		t.Errorf("an old revocation moved the time to %s", got)
	}
}
