//go:build e2e && linux

package e2e

import (
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// agentsIn are the processes of a node's agent: of what is installed and of
// versions, without engines.
func (u *upgradable) agentsIn() []int {
	var out []int
	for _, p := range processes() {
		if strings.Contains(p.command, " run --data-dir "+u.dir+" ") {
			out = append(out, p.pid)
		}
	}
	return out
}

// TestUpgradedAgentKilled kills the old agent, the new one and whichever guards the
// other at any moment of an upgrade: afterwards one agent runs, of one of the two
// versions, and the engines are those from before. SEED repeats one, LLMGW_KILLS
// says how many.
func TestUpgradedAgentKilled(t *testing.T) {
	t.Parallel()
	loops := 10
	if n, err := strconv.Atoi(os.Getenv("LLMGW_KILLS")); err == nil {
		loops = n
	}
	ends := map[string]int{}
	for i := range loops {
		seed := uint64(i)
		if set, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
			seed = set
		}
		t.Run("seed "+strconv.FormatUint(seed, 10), func(t *testing.T) {
			ends[killedUpgrade(t, rand.New(rand.NewPCG(seed, 94)))]++
		})
	}
	t.Logf("of %d upgrades that were killed: %v", loops, ends)
}

// killedUpgrade is one of them. It gives the version that runs in the end.
func killedUpgrade(t *testing.T, chance *rand.Rand) (version string) {
	p := startServe(t)
	u := p.startUpgradable("n1", "30s")
	p.add(simModel("m", scaling(2, 2)))
	p.untilReady("m", 2)
	engines := u.pids()
	u.release("v0.0.2", u.good())
	asked := make(chan error, 1)
	go func() { asked <- u.upgrade("v0.0.2") }()
	for range 1 + chance.IntN(4) {
		time.Sleep(time.Duration(chance.IntN(2000)) * time.Millisecond)
		if pids := u.agentsIn(); len(pids) > 0 {
			_ = syscall.Kill(pids[chance.IntN(len(pids))], syscall.SIGKILL)
		}
		if time.Sleep(100 * time.Millisecond); u.ended() {
			u.start() // as a service does
		}
	}
	if err := <-asked; err == nil || u.begun() {
		version = u.settles("v0.0.2", "").AgentVersion
	} else { // it was killed before anything was taken
		until(t, "an agent runs", soon, func() (bool, any) {
			if u.ended() {
				u.start()
			}
			n, err := p.admin.Node(t.Context(), "n1")
			return err == nil && n.State == "ready", n.State
		})
		version = "v0.0.1"
	}
	p.untilReady("m", 2)
	// The control plane may not know yet that the last one was killed. One that has
	// not begun when it is told to end stops no engine.
	until(t, "the agent that runs has found its engines", soon, func() (bool, any) {
		return strings.Count(u.output(), `"engine ready"`) >= 2, u.output()
	})
	if got := u.pids(); !slices.Equal(got, engines) {
		t.Errorf("engines before: %v, after: %v", engines, got)
	}
	if got := u.agentsIn(); len(got) == 0 || len(got) > 2 || !slices.Contains(got, u.pid()) {
		t.Errorf("agents %v, of which %d was started", got, u.pid())
	}
	if version != "v0.0.1" && version != "v0.0.2" {
		t.Errorf("%q runs", version)
	}
	if r := p.client().chat(t, "m"); r.status != http.StatusOK {
		t.Errorf("a request: %s", r)
	}
	return version
}

// begun says whether an upgrade was written down.
func (u *upgradable) begun() bool {
	_, err := os.Stat(filepath.Join(u.dir, "versions", "state.json"))
	return err == nil
}
