package provision_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/agent/provision"
	"llmgw.io/llmgw/inventory"
)

// TestResolve asks which builds a machine gets. A machine is one line:
// cuda=13.0 cards=H100-80:9.0,T4-16:7.5 arch=amd64 flags=avx2.
func TestResolve(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/resolve.txt", func(t *testing.T, d *datadriven.TestData) string {
		f := machine(t, d.Input)
		var out strings.Builder
		for _, arg := range d.CmdArgs {
			choice := inventory.BuildAuto
			if len(arg.Vals) > 0 {
				choice = arg.Vals[0]
			}
			builds, why := provision.Resolve(arg.Key, choice, f)
			if len(builds) > 0 {
				why = strings.Join(builds, ", then ")
			}
			fmt.Fprintf(&out, "%s: %s\n", arg.Key, why)
		}
		return out.String()
	})
}

func machine(t *testing.T, line string) *inventory.Facts {
	t.Helper()
	f := &inventory.Facts{Arch: "amd64"}
	for word := range strings.FieldsSeq(line) {
		key, val, _ := strings.Cut(word, "=")
		switch key {
		case "cuda":
			f.CUDA = val
		case "arch":
			f.Arch = val
		case "flags":
			f.CPUFlags = strings.Split(val, ",")
		case "cards":
			for c := range strings.SplitSeq(val, ",") {
				class, cc, _ := strings.Cut(c, ":")
				f.Devices = append(f.Devices, inventory.Device{Class: inventory.Class(class), ComputeCapability: cc})
			}
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	return f
}
