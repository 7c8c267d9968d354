//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/internal/release"
	"llmgw.io/llmgw/internal/release/releasetest"
)

// agents builds two versions of the agent, once for all tests.
var agents = sync.OnceValues(func() ([2]string, error) {
	var out [2]string
	for i, v := range []string{"v0.0.1", "v0.0.2"} {
		out[i] = filepath.Join(filepath.Dir(agentBin), "agent-"+v)
		build := exec.Command("go", "build", "-race="+strconv.FormatBool(raced), "-ldflags", "-X main.version="+v, "-o", out[i], "llmgw.io/llmgw/cmd/llmgw-agent")
		if said, err := build.CombinedOutput(); err != nil {
			return out, fmt.Errorf("%w: %s", err, said)
		}
	}
	return out, nil
})

// upgradable is a node with v0.0.1 installed, and a folder with releases that its
// agent looks for.
type upgradable struct {
	*node
	p        *plane
	releases string
	pen      releasetest.Pen
	programs [2]string
}

func (p *plane) startUpgradable(name, trial string) *upgradable {
	p.t.Helper()
	programs, err := agents()
	if err != nil {
		p.t.Fatal(err)
	}
	u := &upgradable{p: p, releases: p.t.TempDir(), pen: releasetest.NewPen(), programs: programs}
	config := fmt.Sprintf("releases: {url: %q, keys: [%q], trial: %s}\n", "file://"+u.releases, u.pen.Key(), trial)
	u.node = p.startProgramAt(name, config, "127.0.0.1", programs[0])
	return u
}

// release puts a signed version where the agent looks for it.
func (u *upgradable) release(version string, program []byte) {
	u.t.Helper()
	w := release.Want{Version: version, OS: runtime.GOOS, Arch: runtime.GOARCH}
	dir := filepath.Join(u.releases, version)
	for _, err := range []error{
		os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, w.File()), program, 0o644),
		os.WriteFile(filepath.Join(dir, w.File()+".minisig"), u.pen.Sign(program, w.Comment()), 0o644),
	} {
		if err != nil {
			u.t.Fatal(err)
		}
	}
}

// good is the second version's program.
func (u *upgradable) good() []byte {
	u.t.Helper()
	b, err := os.ReadFile(u.programs[1])
	if err != nil {
		u.t.Fatal(err)
	}
	return b
}

// broken is a program that says a version, and then does something else.
func broken(version, does string) []byte {
	return []byte("#!/bin/sh\n[ \"$1\" = version ] && exec echo llmgw-agent " + version + "\n" + does + "\n")
}

func (u *upgradable) upgrade(version string) error {
	_, err := u.p.admin.UpgradeNode(u.t.Context(), u.name, view.NodeUpgradeRequest{Version: version})
	return err
}

// settles waits for how an upgrade went, of a node that is ready. A process that
// was killed is started again, as a service is.
func (u *upgradable) settles(version, state string) view.Node {
	u.t.Helper()
	var n view.Node
	until(u.t, "the upgrade to "+version+" is "+state, 3*soon, func() (bool, any) {
		if u.ended() {
			u.start()
		}
		var err error
		n, err = u.p.admin.Node(u.t.Context(), u.name)
		if err != nil || n.Upgrade == nil {
			return false, err
		}
		is := n.Upgrade.State
		return n.State == "ready" && n.Upgrade.To == version && (is == state || state == "" && (is == "done" || is == "failed")), *n.Upgrade
	})
	return n
}

// busy asks for answers until it is stopped, and says how many failed.
func (p *plane) busy(model string) (stop func() (asked, failed int64, last error)) {
	ctx, cancel := context.WithCancel(p.t.Context())
	var asked, failed atomic.Int64
	var last atomic.Pointer[error]
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				r, err := p.client().ask(ctx, http.MethodPost, "/v1/chat/completions", say(model, "hello"))
				if ctx.Err() != nil {
					return
				}
				asked.Add(1)
				if err == nil && r.status != http.StatusOK {
					err = errors.New(r.String())
				}
				if err != nil {
					failed.Add(1)
					last.Store(&err)
				}
			}
		})
	}
	return func() (int64, int64, error) {
		cancel()
		all.Wait()
		if err := last.Load(); err != nil {
			return asked.Load(), failed.Load(), *err
		}
		return asked.Load(), failed.Load(), nil
	}
}

// TestUpgradedAgent upgrades an agent with two engines under load: to versions that
// do not do, from which it goes back by itself, and to one that does; and kills the
// old one then (gpustack/gpustack#2434, kubernetes/kubernetes#118559). Engines and
// requests do not notice.
func TestUpgradedAgent(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	u := p.startUpgradable("n1", "30s")
	p.add(simModel("m", scaling(2, 2)))
	p.untilReady("m", 2)
	engines := u.pids()
	stop := p.busy("m")

	var refused *adminclient.Error
	if err := u.upgrade("v0.0.2"); !errors.As(err, &refused) || refused.Status != http.StatusBadGateway || !strings.Contains(refused.Text, "there is no file://") {
		t.Errorf("nothing is released: %v", err)
	}
	u.release("v0.0.2", broken("v0.0.2", "echo 'llmgw-agent: this one ends' >&2; exit 1"))
	program := filepath.Join(u.releases, "v0.0.2", "llmgw-agent_linux_"+runtime.GOARCH)
	if err := os.WriteFile(program, u.good(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := u.upgrade("v0.0.2"); !errors.As(err, &refused) || refused.Status != http.StatusBadGateway || !strings.Contains(refused.Text, "does not fit") {
		t.Errorf("another file in its place: %v", err)
	}
	for _, c := range []struct{ version, does, why string }{
		{"v0.0.2", "echo 'llmgw-agent: this one ends' >&2; exit 1", "ended each time before the control plane had answered it; last: exit status 1: llmgw-agent: this one ends"},
		{"v0.0.3", "trap '' TERM; exec sleep 1000000", "v0.0.3 was not answered by the control plane within 30s"},
		{"v0.0.4", "exec " + u.programs[1] + " \"$@\" --control https://127.0.0.1:1", "v0.0.4 was not answered by the control plane within 30s"},
	} {
		u.release(c.version, broken(c.version, c.does))
		if err := u.upgrade(c.version); err != nil {
			t.Fatal(err)
		}
		n := u.settles(c.version, "failed")
		if n.AgentVersion != "v0.0.1" || n.Upgrade.From != "v0.0.1" || !strings.Contains(n.Upgrade.Error, c.why) || u.ended() {
			t.Errorf("%s: want %q of v0.0.1, got %+v of %s", c.version, c.why, n.Upgrade, n.AgentVersion)
		}
	}
	u.release("v0.0.2", u.good())
	for range 2 { // the second one finds nothing to do
		if out, code := p.ctl("nodes", "upgrade", "--all", "--version", "v0.0.2"); code != 0 || !strings.Contains(out, "n1    v0.0.") || !strings.Contains(out, "done") {
			t.Errorf("ctl nodes upgrade: exit %d\n%s", code, out)
		}
	}
	if n := u.settles("v0.0.2", "done"); n.AgentVersion != "v0.0.2" || u.ended() {
		t.Errorf("got %s %+v", n.AgentVersion, n.Upgrade)
	}
	p.untilReady("m", 2)
	if asked, failed, last := stop(); failed > 0 || asked == 0 {
		t.Errorf("%d of %d requests failed, at last: %v", failed, asked, last)
	}
	if got := u.pids(); !slices.Equal(got, engines) {
		t.Errorf("engines before: %v, after: %v", engines, got)
	}

	u.signal(syscall.SIGKILL) // the old one, which guards the new one
	<-u.done
	u.start()
	until(t, "the new version is the agent again", soon, func() (bool, any) {
		at, err := os.Readlink(filepath.Join("/proc", itoa(u.pid()), "exe"))
		return err == nil && at == filepath.Join(u.dir, "versions", "v0.0.2", "llmgw-agent") && strings.Contains(u.output(), `"adopted":true`), at
	})
	p.untilReady("m", 2)
	if got := u.pids(); !slices.Equal(got, engines) {
		t.Errorf("engines before: %v, after the kill: %v", engines, got)
	}
	if r := p.client().chat(t, "m"); r.status != http.StatusOK {
		t.Errorf("after all that: %s", r)
	}
}
