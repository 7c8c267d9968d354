package inventorytest_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

// TestFleets runs the scripts under testdata: a fleet as people write it, and
// as Format writes it or what is wrong with it.
func TestFleets(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			fleet, err := inventorytest.Parse(d.Input)
			if err != nil {
				return err.Error() + "\n"
			}
			text := inventorytest.Format(fleet)
			checkRoundTrip(t, fleet, text)
			return text
		})
	})
}

func checkRoundTrip(t *testing.T, fleet *inventory.Snapshot, text string) {
	t.Helper()
	again, err := inventorytest.Parse(text)
	if err != nil {
		t.Fatalf("Format wrote what Parse refuses: %v\n%s", err, text)
	}
	if diff := cmp.Diff(fleet.Nodes(), again.Nodes()); diff != "" {
		t.Fatalf("a fleet is another one after Format and Parse (-before +after):\n%s\n%s", diff, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a1  gpu=8xH100-80  mem=2048  fabric=ib0  rack=r1  cordoned\n# none\n\na2 mig=0:2x3g.40gb cc=8.0")
	f.Add("a gpu=4xL40S-48+1xA2 nvlink=0-1|2-3 numa=0,2|1,3 pci=0-1|2 foreign=0:512M unhealthy=4 engines=none weights=x/../y:3 skew=-6m")
	f.Add("a gpu=2xL4-24 alloc=m-1.0:m:0 alloc=m-2.0:m:1@8:mem=3:cpu=2:disk=1M alloc=c.0:c:- lost disk=3/4 reserve=0/2 label.k=v")
	f.Fuzz(func(t *testing.T, text string) {
		fleet, err := inventorytest.Parse(text)
		if err != nil {
			return
		}
		checkRoundTrip(t, fleet, inventorytest.Format(fleet))
	})
}
