//go:build unix

package e2e

import (
	"fmt"
	"testing"
	"time"
)

// soon is far more than anything here takes on a busy machine.
const soon = time.Minute

// until waits for a condition. What the condition says last is shown when the
// time is over.
func until(t testing.TB, what string, limit time.Duration, holds func() (ok bool, seen any)) {
	t.Helper()
	end := time.Now().Add(limit)
	for {
		ok, seen := holds()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %s in vain until %s; last seen: %s", limit, what, brief(seen))
		}
		time.Sleep(30 * time.Millisecond)
	}
}

func brief(v any) string {
	s := fmt.Sprintf("%+v", v)
	if len(s) > 2000 {
		s = s[:2000] + "…"
	}
	return s
}
