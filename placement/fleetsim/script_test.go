package fleetsim_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/placement/fleetsim"
)

// TestScripts runs the scenarios under testdata:
//
//	run [seed=1] [for=2h] [heal]   the input is a scenario, the answer its report
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
			return fleetsim.Run(sc, o, source(seed)).String()
		})
	})
}

// source is the chance that the command draws from for the same seed.
func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, fleetsim.Stream)) }
