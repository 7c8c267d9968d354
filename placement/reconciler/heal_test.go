package reconciler_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// TestHealAtEveryMoment lets a lost node return at every moment of its
// replica's replacement, with a look before, after or only at the end. One
// replica survives, nothing is started after the node is back, and nothing that
// was stopped is started again.
func TestHealAtEveryMoment(t *testing.T) {
	t.Parallel()
	story := []string{"node of:m-1 lost", "step", "shard m-2.0 pending", "step", "shard m-2.0 starting", "step", "shard m-2.0 ready", "step"}
	for at := 1; at <= len(story); at++ {
		for _, back := range []inventory.ShardState{"ready", "starting", ""} {
			name := fmt.Sprintf("after %d, back %q", at, back)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b, err := newSandbox("a1 gpu=1xL4-24\na2 gpu=1xL4-24")
				if err != nil {
					t.Fatal(err)
				}
				tell(t, b, "model m min=1", "step", "shard m-1.0 ready", "step")
				tell(t, b, story[:at]...)
				if back == "" {
					tell(t, b, "shard m-1.0 forgotten")
				} else {
					tell(t, b, "shard m-1.0 "+string(back))
				}
				placed := len(b.used)
				tell(t, b, "node of:m-1 heard", "step")
				tell(t, b, story[at:]...)
				for range 4 {
					obey(t, b)
					tell(t, b, "advance 10s", "step")
				}
				if len(b.used) > placed {
					t.Errorf("want nothing started after the node is back, got %v", slices.Sorted(maps.Keys(b.used)))
				}
				if len(b.replicas) != 1 {
					t.Fatalf("want one survivor, got:\n%s", b.showReplicas())
				}
				for _, r := range b.replicas {
					if r.Phase != reconciler.Run || reconciler.StateOf(&r, b.fleet()) != reconciler.StateReady {
						t.Errorf("want the survivor ready, got:\n%s", b.showReplicas())
					}
				}
			})
		}
	}
}

// tell runs lines, but for those about shards that were never placed.
func tell(t *testing.T, b *sandbox, lines ...string) {
	t.Helper()
	for _, line := range lines {
		w := parse(line)
		if w.arg(0) == "shard" && b.homes[w.arg(1)] == "" {
			continue
		}
		if _, err := b.do(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

// obey lets every agent be done with what it was told.
func obey(t *testing.T, b *sandbox) {
	t.Helper()
	for _, r := range b.replicas {
		switch r.Phase {
		case reconciler.Run:
			tell(t, b, "shard "+string(r.Shards[0].ID)+" ready")
		case reconciler.Stop:
			tell(t, b, "shard "+string(r.Shards[0].ID)+" stopped")
		case reconciler.Drain:
		}
	}
}
