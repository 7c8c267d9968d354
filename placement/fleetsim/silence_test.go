package fleetsim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/placement/fleetsim"
)

// wide is a fleet of 200 nodes in 20 racks with 300 replicas and people who use
// them, and a trace of its own.
func wide(t *testing.T, trace string) *fleetsim.Scenario {
	t.Helper()
	var b strings.Builder
	b.WriteString("net\ndelay=1ms-50ms late=1%:2s loss=0.5% dup=0.5%\nfleet\n")
	for i := range 200 {
		fmt.Fprintf(&b, "n%03d gpu=4xL4-24 mem=256 cpu=64 rack=r%02d pdu=p%d\n", i, i/10, i/40)
	}
	b.WriteString(`models
model top  class=critical min=60 gpu=2xL4-24 start=20s
model mid  class=standard min=120 gpu=1xL4-24 start=10s
model low  class=batch min=120 gpu=1xL4-24 start=10s
model late class=standard min=0 max=1 gpu=1xL4-24 start=10s
trace
1m load top rate=3 for=10s
1m load mid rate=4 for=5s
`)
	sc, err := fleetsim.Parse(b.String() + trace)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// TestLawsSilence cuts 60 % of 200 nodes off for ten minutes: no replica is
// stopped, none is there twice afterwards, requests through routers are served
// all the time, and what is new is placed on nodes that are heard.
func TestLawsSilence(t *testing.T) {
	t.Parallel()
	sc := wide(t, "10m cut 60% for=10m\n13m ask late for=5s\n")
	r := fleetsim.Run(sc, fleetsim.Options{For: 27 * time.Minute}, source(1))
	if r.Broke() {
		t.Errorf("laws broke:\n%s", r)
	}
	if r.NodesSilent < 100 || r.BrakeSet != 1 || r.NodesLost < 100 {
		t.Errorf("%d nodes were silent, %d lost, the brake set %d times: nothing was tried", r.NodesSilent, r.NodesLost, r.BrakeSet)
	}
	if r.Stopped > 0 || r.Replaced > 0 || r.Moved > 0 || r.Preempted > 0 {
		t.Errorf("%d replicas were stopped, %d replaced, %d moved, %d preempted", r.Stopped, r.Replaced, r.Moved, r.Preempted)
	}
	if r.Placed != 301 {
		t.Errorf("%d replicas were placed, want 300 and one that was asked for meanwhile", r.Placed)
	}
	if r.Requests < 5000 || r.Served != r.Requests || r.Waited > 1 || r.Broken > 0 {
		t.Errorf("of %d requests %d were served, %d of them after a wait, and %d broken", r.Requests, r.Served, r.Waited, r.Broken)
	}
	for _, m := range r.Models {
		if m.Ready != m.Desired || m.Total != m.Desired {
			t.Errorf("%s: %d ready and %d in all, want %d", m.Name, m.Ready, m.Total, m.Desired)
		}
	}
}

// TestLawsStall lets the control plane stand still for 25 seconds, five times at
// other moments: no node counts as silent, and nothing is ordered for it.
func TestLawsStall(t *testing.T) {
	t.Parallel()
	sc := wide(t, `5m control stall for=25s
7m1s control stall for=25s
9m2500ms control stall for=25s
11m3700ms control stall for=25s
13m4900ms control stall for=25s
`)
	r := fleetsim.Run(sc, fleetsim.Options{For: 16 * time.Minute}, source(1))
	if r.Broke() {
		t.Errorf("laws broke:\n%s", r)
	}
	if r.NodesSilent > 0 || r.NodesLost > 0 || r.Stopped > 0 || r.Placed != 300 {
		t.Errorf("%d nodes were silent and %d lost, %d replicas stopped, %d placed:\n%s", r.NodesSilent, r.NodesLost, r.Stopped, r.Placed, r)
	}
	if r.Served != r.Requests || r.Requests < 3000 {
		t.Errorf("of %d requests %d were served", r.Requests, r.Served)
	}
}
