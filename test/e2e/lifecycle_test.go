//go:build unix

package e2e

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestInterrupt: Ctrl-C in a terminal reaches every process of dev at once, and
// ends all of it in order all the same.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startDev(t, dir)
	p.untilNode("here", "ready")
	p.add(simModel("m", scaling(2, 2)))
	p.untilReady("m", 2)
	if out, code := runProgram(t, nil, controlBin, p.args...); code == 0 || !strings.Contains(out, itoa(p.pid())) {
		t.Errorf("a second dev on one folder: code %d: %s", code, out)
	}
	if err := syscall.Kill(-p.pid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	until(t, "dev has ended", endLimit, func() (bool, any) { return p.ended(), tail(p.output(), 3) })
	if left := processesIn(dir); len(left) > 0 {
		t.Errorf("dev has ended and left processes: %+v", left)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("an end in order has code %d:\n%s", code, tail(p.output(), 10))
	}
	p.start()
	p.untilReady("m", 2)
}

// TestAgentUpgrade ends an agent as a service manager does before it starts the
// next one: engines go on, answer meanwhile, and are adopted.
func TestAgentUpgrade(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(2, 2)))
	p.untilReady("m", 2)
	n.end(syscall.SIGTERM)
	if es := n.engines(); len(es) != 0 {
		t.Fatalf("an agent that was to stop its engines left %v", es)
	}
	stop := n.args
	n.args = slices.DeleteFunc(slices.Clone(n.args), func(a string) bool { return a == "--stop-engines" })
	n.start()
	// The control plane believes the old engines until it hears of the new ones.
	until(t, "two new engines are ready", soon, func() (bool, any) {
		return strings.Count(n.output(), `"msg":"engine ready"`) == 2, n.output()
	})
	p.untilReady("m", 2)
	before := n.pids()
	n.end(syscall.SIGTERM)
	if now := n.pids(); !slices.Equal(now, before) {
		t.Fatalf("engines before the agent's end: %v, after: %v", before, now)
	}
	if r := p.client().chat(t, "m"); r.status != http.StatusOK {
		t.Errorf("without an agent: %s", r)
	}
	n.args = stop
	n.start()
	until(t, "both engines are adopted", soon, func() (bool, any) {
		return strings.Count(n.output(), `"adopted":true`) == 2, n.output()
	})
	p.untilReady("m", 2)
	if now := n.pids(); !slices.Equal(now, before) {
		t.Errorf("engines before the upgrade: %v, after: %v", before, now)
	}
}
