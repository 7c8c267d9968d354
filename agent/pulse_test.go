package agent

import (
	"errors"
	"testing"
	"time"
)

func TestPulse(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	bad := errors.New("timeout")
	p := newPulse(30 * time.Second)
	for i := range hungProbes - 1 {
		if p.probed(bad, start) {
			t.Errorf("hung after %d failed probes", i+1)
		}
	}
	if !p.probed(bad, start) {
		t.Error("never hung without a count of tokens")
	}
	p = newPulse(30 * time.Second)
	p.busy = true
	for i := range 3 * hungProbes {
		if p.probed(bad, start) {
			t.Errorf("a busy engine without a count hangs after %d failed probes", i+1)
		}
	}
	p = newPulse(30 * time.Second)
	p.generated(5, start)
	p.probed(bad, start.Add(30*time.Second))
	p.generated(6, start.Add(40*time.Second))
	if p.probed(bad, start.Add(60*time.Second)) {
		t.Error("hung though tokens move")
	}
	if !p.probed(bad, start.Add(71*time.Second)) {
		t.Error("not hung though no token moved for 30 s and probes fail")
	}
}
