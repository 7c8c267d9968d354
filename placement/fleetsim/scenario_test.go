package fleetsim_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/placement/fleetsim"
)

// TestLawsShrink makes a large scenario small, and keeps what its failure needs.
func TestLawsShrink(t *testing.T) {
	t.Parallel()
	sc, err := fleetsim.Parse(`net
loss=1%
fleet
n1 gpu=1xL4-24
n2 gpu=2xL4-24
n3 gpu=1xL4-24
hold node:n3 "dust"
models
model a gpu=1
profile large gpu=2
model b gpu=1
trace
1m crash n1 for=1m
2m crash n2 for=1m
3m restart b rollout
4m cut n2 for=1m
5m remove a
`)
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	small := fleetsim.Shrink(sc, func(sc *fleetsim.Scenario) bool {
		tries++
		text := sc.String()
		return strings.Contains(text, "crash n2") && strings.Contains(text, "model b") && strings.Contains(text, "rollout")
	})
	want := "fleet\nn2 gpu=2xL4-24\nmodels\nmodel b gpu=1\ntrace\n2m crash n2 for=1m\n3m restart b rollout\n"
	if diff := cmp.Diff(want, small.String()); diff != "" {
		t.Errorf("after %d tries (-want +got):\n%s", tries, diff)
	}
}

// FuzzParse never panics, and reads again what it wrote.
func FuzzParse(f *testing.F) {
	f.Add("net\ndelay=1ms-2ms late=1%:1s\nfleet\na gpu=1xL4-24\nmodels\nmodel m gpu=1 files=w:1\ntrace\n1m crash a for=1s\n")
	f.Add("fleet\na mem=4\nhold rack:r \"x\"\nmodels\nmodel m window=08:00-18:00/1\nprofile p cpu=1\ntrace\n1h hold rack:r from=0s : x\n")
	f.Add("fleet\na rack=r\ntrace\n1s load m rate=0.5\n2s cut 60% for=1s\n3s node rack:r ready\n4s control stall for=1s\n")
	f.Fuzz(func(t *testing.T, text string) {
		sc, err := fleetsim.Parse(text)
		if err != nil {
			return
		}
		again, err := fleetsim.Parse(sc.String())
		if err != nil {
			t.Fatalf("what was written does not read: %v\n%s", err, sc)
		}
		if again.String() != sc.String() {
			t.Errorf("written again it differs:\n%s\n%s", sc, again)
		}
	})
}
