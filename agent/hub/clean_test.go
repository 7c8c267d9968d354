package hub_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// What counters are called, how many there are and how high they are is a
// stranger's word.
func TestCountersAreBounded(t *testing.T) {
	t.Parallel()
	h, reg := inMemory(t, hub.Config{})
	reg.Apply("n1", inventory.Report{}, time.Now())
	if err := h.Dispatch(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	errs := map[string]int64{"link\x1b[2Jdowned": math.MaxInt64}
	for i := range 1000 {
		errs[fmt.Sprint(i)] = 1
	}
	b := protocol.Beat{Node: "n1", Sample: &inventory.Sample{Ports: []inventory.PortCounters{{HCA: "mlx5_0", Errors: errs}}}}
	if _, err := h.Beat(t.Context(), "n1", b); err != nil {
		t.Fatal(err)
	}
	s := reg.reports[len(reg.reports)-1].Sample
	if s == nil || len(s.Ports) != 1 || len(s.Ports[0].Errors) > 256 {
		t.Fatalf("want at most 256 counters, got %+v", s)
	}
	for name, v := range s.Ports[0].Errors {
		if name == "link\x1b[2Jdowned" || v > 1<<50 {
			t.Errorf("want no control characters and no number beyond all counting, got %q %d", name, v)
		}
	}
}
