package fleetsim_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/placement/fleetsim"
)

// TestScripts runs the scenarios under testdata:
//
//	run [seed=1] [for=2h] [heal]   the input is a scenario, the answer what became of it
//	report …                       the same, the answer is the whole report
//	read                           the input is a scenario, the answer what was read
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			sc, err := fleetsim.Parse(d.Input)
			if err != nil {
				return err.Error() + "\n"
			}
			if d.Cmd == "read" {
				return sc.String()
			}
			seed, length := uint64(1), ""
			d.MaybeScanArgs(t, "seed", &seed)
			d.MaybeScanArgs(t, "for", &length)
			o := fleetsim.Options{Heal: d.HasArg("heal")}
			if length != "" {
				if o.For, err = time.ParseDuration(length); err != nil {
					d.Fatalf(t, "%v", err)
				}
			}
			r := fleetsim.Run(sc, o, source(seed))
			if d.Cmd == "report" {
				return r.String()
			}
			return outcome(r)
		})
	})
}

// outcome is what must come of a scenario whatever nodes the placer prefers.
func outcome(r *fleetsim.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests: %d served, %d refused, %d in vain, %d broken\n", r.Requests, r.Served, r.Refused, r.Unserved, r.Broken)
	for _, m := range r.Models {
		fmt.Fprintf(&b, "%s: %d/%d ready\n", m.Name, m.Ready, m.Desired)
	}
	fmt.Fprintf(&b, "%d violations\n", len(r.Violations))
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "  %s: %s\n", v.Law, v.Text)
	}
	return b.String()
}

// source is the chance that the command draws from for the same seed.
func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, fleetsim.Stream)) }
