package heap

import (
	"context"
	"testing"
)

func TestPercent(t *testing.T) {
	t.Parallel()
	for used, want := range map[uint64]int{
		0: 100, 30 << 20: 100, 128 << 20: 100, 256 << 20: 50, 640 << 20: 20, 1 << 40: 10,
	} {
		if got := percent(used); got != want {
			t.Errorf("of %d MiB: want %d, got %d", used>>20, want, got)
		}
	}
}

func TestRunEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx); err != nil {
		t.Error(err)
	}
	if inUse() == 0 {
		t.Error("this process has something in use")
	}
}
