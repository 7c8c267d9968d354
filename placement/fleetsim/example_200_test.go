package fleetsim_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/placement/fleetsim"
)

// TestSimExampleFleet runs the example's first hour: no law breaks, what is wanted
// is there, and nothing depends on how many processors there are.
func TestSimExampleFleet(t *testing.T) {
	text, err := os.ReadFile("../../examples/fleets/200-nodes.txt")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := fleetsim.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	run := func(procs int, span time.Duration) *fleetsim.Report {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		return fleetsim.Run(sc, fleetsim.Options{For: span}, source(1))
	}
	r := run(runtime.GOMAXPROCS(0), time.Hour)
	if r.Broke() {
		t.Errorf("laws broke:\n%s", r)
	}
	for _, m := range r.Models {
		if m.Ready != m.Desired {
			t.Errorf("%s has %d ready of %d", m.Name, m.Ready, m.Desired)
		}
	}
	if diff := cmp.Diff(run(1, 10*time.Minute).String(), run(4, 10*time.Minute).String()); diff != "" {
		t.Errorf("another number of processors gives another report:\n%s", diff)
	}
}
