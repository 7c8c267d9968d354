//go:build e2e && linux

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestIsolatedEngines runs an agent as root in a folder that other users get to:
// each engine answers as a user of its own, and is adopted by the next agent after
// a kill.
func TestIsolatedEngines(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only an agent that is root gives engines users of their own")
	}
	dir, err := os.MkdirTemp("/tmp", "llmgw-e2e-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, err := os.ReadFile(agentBin)
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "llmgw-agent")
	if err := os.WriteFile(bin, program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}

	p := startServe(t)
	n := &node{t: t, name: "n1", dir: filepath.Join(dir, "data")}
	if out, code := p.join(n.name, n.dir, p.joinToken()); code != 0 {
		t.Fatalf("join: %s", out)
	}
	file := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(file, []byte("isolation: required\n"+ports()), 0o600); err != nil {
		t.Fatal(err)
	}
	n.args = []string{"run", "--data-dir", n.dir, "--config", file, "--mgmt-addr", "127.0.0.1", "--stop-engines"}
	begin := func() { n.process = start(t, "agent-n1", bin, n.args...) }
	begin()
	p.untilNode("n1", "ready")
	p.add(simModel("m", scaling(2, 2)))
	p.untilReady("m", 2)

	before := n.pids()
	uids := map[int]bool{}
	for _, pid := range before {
		info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
		if err != nil {
			t.Fatal(err)
		}
		uid := int(info.Sys().(*syscall.Stat_t).Uid)
		if uid <= 64000 || uid > 64999 {
			t.Errorf("engine %d runs as %d", pid, uid)
		}
		uids[uid] = true
	}
	if len(uids) != 2 {
		t.Errorf("two engines have the users %v", uids)
	}
	n.kill()
	if r := p.client().chat(t, "m"); r.status != http.StatusOK {
		t.Errorf("without an agent: %s", r)
	}
	begin()
	until(t, "both engines are adopted", soon, func() (bool, any) {
		return strings.Count(n.output(), `"adopted":true`) == 2, n.output()
	})
	if now := n.pids(); len(now) != 2 || now[0] != before[0] || now[1] != before[1] {
		t.Errorf("engines before: %v, after: %v", before, now)
	}
}
