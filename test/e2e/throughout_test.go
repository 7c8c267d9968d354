//go:build e2e && unix

package e2e

import (
	"testing"
	"time"
)

// throughout holds a condition against a span, since what must not happen can
// only be waited for.
func throughout(t testing.TB, what string, span time.Duration, holds func() (ok bool, seen any)) {
	t.Helper()
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok, seen := holds(); !ok {
			t.Fatalf("it did not hold that %s; seen: %s", what, brief(seen))
		}
	}
}
