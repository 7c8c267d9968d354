package process

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// What a shard started is no stranger, also when it lost its environment; this
// test is one, and a number that nobody has is not known to be.
func TestForeign(t *testing.T) {
	t.Parallel()
	p, output := start(t, `env -i /bin/sh -c 'echo bare $$; sleep 60' & wait`)
	until(t, "the bare child", func() bool { return says(output, "\n") })
	data, _ := os.ReadFile(output)
	bare, err := strconv.Atoi(strings.Fields(string(data))[1])
	if err != nil {
		t.Fatal(err)
	}
	if markOf(bare) != "" {
		t.Fatal("the child has the mark: this shows nothing")
	}
	for pid, want := range map[int]bool{p.tree.Leader.PID: false, bare: false, os.Getpid(): true, 1 << 30: false} {
		if got := Foreign(pid); got != want {
			t.Errorf("process %d: want %v, got %v", pid, want, got)
		}
	}
}
