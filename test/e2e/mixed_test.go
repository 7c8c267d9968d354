//go:build e2e && unix

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi/view"
)

// TestBothKilled kills control plane and agent at once, in the middle of a
// restart: one engine is left, and it answers.
func TestBothKilled(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(2, 2), "--startup-duration", "1s"))
	p.untilReady("m", 2)
	for round := range 4 {
		old := replicaIDs(p.replicas("m"))
		if _, err := p.admin.Restart(t.Context(), view.RestartRequest{Models: []string{"m"}}); err != nil {
			t.Fatal(err)
		}
		until(t, "a replacement is under way", soon, func() (bool, any) { return len(n.engines()) > 2-round%2, n.engines() })
		p.kill()
		n.kill()
		if round%2 == 0 {
			n.start()
			p.start()
		} else {
			p.start()
			n.start()
		}
		until(t, "the restart is over", 3*soon, func() (bool, any) {
			rs := p.replicas("m")
			done := len(rs) == 2 && !slices.ContainsFunc(rs, func(r view.Replica) bool {
				return r.State != "ready" || r.Restart != "" || strings.Contains(old, r.ID)
			})
			return done, rs
		})
		until(t, "two engines run", soon, func() (bool, any) { return len(n.engines()) == 2, n.engines() })
		if r := p.client().chat(t, "m"); r.status != http.StatusOK {
			t.Errorf("round %d: %s", round, r)
		}
	}
}

// TestMeanwhile changes the world while an agent is away: engines that died are
// replaced, and those that are not wanted any more are stopped.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("stays", scaling(1, 1)))
	p.untilReady("stays", 1)
	first := n.theEngine()
	p.add(simModel("goes", scaling(1, 1)))
	p.untilReady("goes", 1)

	n.kill()
	kill9(t, first)
	if _, err := p.admin.RemoveModel(t.Context(), "goes"); err != nil {
		t.Fatal(err)
	}
	n.start()
	until(t, "one engine runs, of the model that stays", soon, func() (bool, any) {
		es := n.engines()
		for _, command := range es {
			if !strings.Contains(command, "stays") {
				return false, es
			}
		}
		return len(es) == 1, es
	})
	p.untilReady("stays", 1)
	if r := p.client().chat(t, "stays"); r.status != http.StatusOK {
		t.Errorf("the model that stays: %s", r)
	}
}

// TestEngineDiesWithoutControl: an agent that nobody speaks to starts its dead
// engine again by itself, and the control plane takes that for its own.
func TestEngineDiesWithoutControl(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(1, 1)))
	p.untilReady("m", 1)
	p.kill()
	first := n.theEngine()
	until(t, "the agent knows that it is alone", soon, func() (bool, any) {
		return strings.Contains(n.output(), "does not answer"), tail(n.output(), 3)
	})
	kill9(t, first)
	until(t, "another engine runs", 2*soon, func() (bool, any) {
		es := n.engines()
		_, old := es[first]
		return len(es) == 1 && !old, es
	})
	p.start()
	p.untilReady("m", 1)
	throughout(t, "there is one engine", 5*time.Second, func() (bool, any) { return len(n.engines()) == 1, n.engines() })
	if r := p.client().chat(t, "m"); r.status != http.StatusOK {
		t.Errorf("afterwards: %s", r)
	}
}

// TestBrokenState: an agent whose notes were cut in half puts them aside, ends
// the engines that it cannot account for, and starts what is wanted.
func TestBrokenState(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(2, 2)))
	p.untilReady("m", 2)
	old := n.pids()
	n.kill()
	state := filepath.Join(n.dir, "state.json")
	b, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state, b[:len(b)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	n.start()
	until(t, "the agent says so", soon, func() (bool, any) {
		return strings.Contains(n.output(), "unreadable"), tail(n.output(), 5)
	})
	until(t, "two other engines run", soon, func() (bool, any) {
		now := n.pids()
		return len(now) == 2 && !slices.ContainsFunc(now, func(pid int) bool { return slices.Contains(old, pid) }), now
	})
	p.untilReady("m", 2)
	throughout(t, "there are two engines", 3*time.Second, func() (bool, any) { return len(n.engines()) == 2, n.engines() })
}

// TestControlDiskFull: a control plane whose disk is full goes on answering
// requests, and the rows that fit nowhere then cost nobody an answer.
func TestControlDiskFull(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("a small disk cannot be made, which only root can: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	p := &plane{t: t, dir: disk, args: []string{
		"serve", "--data", disk, "--client", freeAddress(t), "--admin", freeAddress(t), "--agents", freeAddress(t),
	}}
	p.start()
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(1, 1)))
	p.untilReady("m", 1)
	pid := n.theEngine()
	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if r := p.client().chat(t, "m"); r.status != http.StatusOK {
					t.Errorf("on a full disk: %s", r)
					return
				}
			}
		})
	}
	wg.Wait()
	if p.ended() {
		t.Fatal("the control plane ended")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	f.Close()
	last := p.client().chat(t, "m")
	if row := p.untilRow(last.id()); row.Outcome != "ok" {
		t.Errorf("row: %+v", row)
	}
	until(t, "changes can be made again", soon, func() (bool, any) {
		_, err := p.admin.ScaleModel(t.Context(), "m", scaleTo(2))
		return err == nil, err
	})
	p.untilReady("m", 2)
	if !alive(pid) {
		t.Error("the engine was replaced")
	}
}
