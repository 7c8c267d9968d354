package figure_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/bench/agent/figure"
)

func TestTable(t *testing.T) {
	t.Parallel()
	list := []figure.Figure{
		figure.Goal("memory", 23.71, 40, "MiB"),
		figure.Plain("a beat", 188, "B"),
		figure.Goal("streams that broke", 1, 0, ""),
	}
	path := filepath.Join(t.TempDir(), "figures.json")
	var out bytes.Buffer
	if met, err := figure.Report(&out, path, list); err != nil || met {
		t.Errorf("a goal of zero was missed: %v, %v", met, err)
	}
	want := `| figure             | is       | goal   |        |
| ------------------ | -------- | ------ | ------ |
| memory             | 23.7 MiB | 40 MiB | met    |
| a beat             | 188 B    |        |        |
| streams that broke | 1        | 0      | MISSED |
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	back, err := figure.Read(path)
	if d := cmp.Diff(list, back); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if !figure.Print(&out, list[:2]) {
		t.Error("all goals were met")
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var list []time.Duration
	for i := range 1000 {
		list = append(list, time.Duration(1000-i))
	}
	for hundredths, want := range map[float64]time.Duration{0: 1, 50: 500, 99: 990, 100: 1000} {
		if got := figure.Percentile(list, hundredths); got != want {
			t.Errorf("%v: want %d, got %d", hundredths, want, got)
		}
	}
	if got := figure.Percentile(nil, 99); got != 0 {
		t.Errorf("of none: %d", got)
	}
}
