package reconciler

import (
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
)

func TestReplicaID(t *testing.T) {
	t.Parallel()
	for model, want := range map[catalog.Name]ReplicaID{
		"tiny":                   "tiny-7",
		"Org/Tiny-1.0:Q4_K":      "org-tiny-1-0-q4-k-7",
		"--a//b--":               "a-b-7",
		"日本":                     "model-7",
		catalog.Name(long("x")):  ReplicaID(strings.Repeat("x", maxSlug) + "-7"),
		catalog.Name(long("x/")): ReplicaID(strings.Trim(strings.Repeat("x-", maxSlug/2), "-") + "-7"),
	} {
		if got := replicaID(model, 7); got != want {
			t.Errorf("replicaID(%q): want %s, got %s", model, want, got)
		}
		if n := want.number(); n != 7 {
			t.Errorf("%s: want number 7, got %d", want, n)
		}
	}
	if id := shardID("tiny-7", 2); id != "tiny-7.2" {
		t.Errorf("want tiny-7.2, got %s", id)
	}
}

func long(s string) string { return strings.Repeat(s, 100) }

func TestBackoff(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{
		0: FirstBackoff, 1: FirstBackoff, 2: 2 * FirstBackoff, 4: 40 * time.Second, 7: MaxBackoff, 1 << 30: MaxBackoff,
	} {
		if got := Backoff(failures); got != want {
			t.Errorf("Backoff(%d): want %s, got %s", failures, want, got)
		}
	}
}
