package agent_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/gate"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// outside is an address of this machine that is not loopback.
func outside(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback, so no gate would be opened")
	return ""
}

// gated is a node whose routers are elsewhere.
type gated struct {
	t        *testing.T
	mgmt     string
	identity string
	router   *http.Client
}

func newGated(t *testing.T) *gated {
	t.Helper()
	mgmt := outside(t)
	c, err := agenttest.NewCluster(t.TempDir(), "n1")
	if err != nil {
		t.Fatal(err)
	}
	return &gated{t: t, mgmt: mgmt, identity: c.Identity, router: c.Router}
}

// config is an agent's of this node.
func (g *gated) config(p *plane) agent.Config {
	g.t.Helper()
	cfg := config(g.t, p)
	c := p.control()
	c.GateIdentityFunc = func(context.Context) (string, error) { return g.identity, nil }
	cfg.Control, cfg.MgmtAddr, cfg.Gate = c, g.mgmt, agenttest.Gate()
	cfg.GatePortMin = cfg.PortMin - 1000
	cfg.GatePortMax = cfg.GatePortMin + 99
	return cfg
}

// stream asks for so many chunks and returns the answer once it has begun.
func (g *gated) stream(address string, chunks int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, "https://"+address+"/v1/chat/completions", strings.NewReader(strconv.Itoa(chunks)))
	if err != nil {
		g.t.Fatal(err)
	}
	return g.router.Do(req)
}

// whole reads a stream to its end, which must be so many chunks away.
func (g *gated) whole(res *http.Response, chunks int) {
	g.t.Helper()
	defer res.Body.Close()
	n := 0
	s := bufio.NewScanner(res.Body)
	for ; s.Scan(); n++ {
		if want := fmt.Sprintf("data: %d", n/2); n%2 == 0 && s.Text() != want {
			g.t.Errorf("line %d is %q, want %q", n, s.Text(), want)
		}
	}
	if s.Err() != nil || n != 2*chunks {
		g.t.Errorf("the stream had %d lines of %d, %v", n, 2*chunks, s.Err())
	}
}

func (g *gated) asked(address string) error {
	res, err := g.stream(address, 1)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}

// gatePID finds the gate's process by where it works.
func gatePID(dataDir string) int {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, filepath.Join(dataDir, "gates")+"/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			return pid
		}
	}
	return 0
}

// The engine is on loopback, the gate where routers are; the key is in neither's
// arguments nor in the gate's environment; a drain is refused with the mark; and
// nothing is left in the end.
func TestGateLife(t *testing.T) {
	t.Parallel()
	g, p := newGated(t), newPlane()
	cfg := g.config(p)
	run(t, cfg)
	word := "gate-life-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word})
	p.order(s)
	st := p.wait(t, s.Shard, inventory.ShardReady)
	host, port, err := net.SplitHostPort(st.Address)
	if n, _ := strconv.Atoi(port); err != nil || !st.Gate || host != g.mgmt || n < cfg.GatePortMin || n > cfg.GatePortMax {
		t.Fatalf("routers are told %q, gate %v", st.Address, st.Gate)
	}
	if err := g.asked(st.Address); err != nil {
		t.Errorf("through the gate: %v", err)
	}
	if c, err := net.Dial("tcp", net.JoinHostPort(g.mgmt, strconv.Itoa(cfg.PortMin))); err == nil {
		_ = c.Close()
		t.Error("the engine listens outside of loopback")
	}
	pid := gatePID(cfg.DataDir)
	for _, name := range []string{"cmdline", "environ"} {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
		if err != nil || strings.Contains(string(b), s.EngineKey) || strings.Contains(string(b), "HOME=") {
			t.Errorf("the gate's %s: %q, %v", name, b, err)
		}
	}
	configs, _ := filepath.Glob(filepath.Join(cfg.DataDir, "gates", "*", gate.ConfigFile))
	if info, err := os.Stat(configs[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the configuration: %v, %v", info, err)
	}

	s.Want = protocol.WantDrain
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardDraining)
	until(t, "the gate refuses", func() bool {
		res, err := g.stream(st.Address, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusServiceUnavailable && res.Header.Get(gate.HeaderDraining) != ""
	})
	p.order()
	until(t, "the shard is forgotten", func() bool { return p.status(s.Shard).ID == "" })
	if left := gatePID(cfg.DataDir); left != 0 || len(processes(word)) > 0 {
		t.Errorf("left are the gate %d and the engine %v", left, processes(word))
	}
	if left, _ := filepath.Glob(filepath.Join(cfg.DataDir, "gates", "*")); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// A stream goes on to its end while the agent is away and another comes, and the
// gate is the same process.
func TestGateOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	const chunks = 300
	g, p := newGated(t), newPlane()
	cfg := g.config(p)
	stop := run(t, cfg)
	s := shardOf("m-1.0", nil)
	p.order(s)
	st := p.wait(t, s.Shard, inventory.ShardReady)
	res, err := g.stream(st.Address, chunks)
	if err != nil {
		t.Fatal(err)
	}
	pid := gatePID(cfg.DataDir)
	stop()
	if err := g.asked(st.Address); err != nil {
		t.Errorf("without an agent: %v", err)
	}
	run(t, cfg)
	p.clear(t)
	until(t, "adopted", func() bool { st := p.status(s.Shard); return st.State == inventory.ShardReady && st.Adopted })
	g.whole(res, chunks)
	if now := p.status(s.Shard); now.Address != st.Address || !now.Gate || gatePID(cfg.DataDir) != pid {
		t.Errorf("the gate was %d at %s and is %d at %s", pid, st.Address, gatePID(cfg.DataDir), now.Address)
	}
}

// A gate that is killed is started again, with and without an agent to see it.
func TestGateIsStartedAgain(t *testing.T) {
	t.Parallel()
	g, p := newGated(t), newPlane()
	cfg := g.config(p)
	stop := run(t, cfg)
	word := "gate-again-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word})
	p.order(s)
	st := p.wait(t, s.Shard, inventory.ShardReady)
	engine := processes(word)
	for _, away := range []bool{false, true} {
		if away {
			stop() // first: an agent on a busy machine may be about to start its gate again
		}
		pid := gatePID(cfg.DataDir)
		if pid == 0 {
			t.Fatal("there is no gate to kill")
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if away {
			until(t, "the gate is gone", func() bool { return gatePID(cfg.DataDir) == 0 })
			run(t, cfg)
			p.clear(t)
		}
		until(t, "another gate serves", func() bool { return g.asked(p.status(s.Shard).Address) == nil })
		if again := gatePID(cfg.DataDir); again == pid || again == 0 {
			t.Errorf("away %v: the gate was %d and is %d", away, pid, again)
		}
	}
	if now := p.status(s.Shard); now.Address != st.Address || now.Starts != 1 || !slices.Equal(processes(word), engine) {
		t.Errorf("the engine was disturbed: %+v", now)
	}
}

// A stop waits for what the gate has in flight, and no longer than its limit.
func TestStopWaitsForTheGate(t *testing.T) {
	t.Parallel()
	const chunks = 100
	g, p := newGated(t), newPlane()
	run(t, g.config(p))
	for _, limit := range []time.Duration{time.Minute, 50 * time.Millisecond} {
		chunks := chunks
		if limit != time.Minute {
			chunks *= 1000 // however late the order is met
		}
		s := shardOf("m-"+strconv.Itoa(int(limit))+".0", nil)
		s.DrainTimeout = limit
		p.order(s)
		st := p.wait(t, s.Shard, inventory.ShardReady)
		res, err := g.stream(st.Address, chunks)
		if err != nil {
			t.Fatal(err)
		}
		s.Want = protocol.WantStop
		p.order(s)
		if limit == time.Minute {
			g.whole(res, chunks)
		} else if _, err := io.Copy(io.Discard, res.Body); err == nil {
			t.Error("the stream was whole though its time was over")
		}
		_ = res.Body.Close()
		p.wait(t, s.Shard, inventory.ShardStopped)
	}
	p.order()
}

// Without a certificate nothing is started, and a node that was removed serves
// nobody any more.
func TestGateNeedsTheCluster(t *testing.T) {
	t.Parallel()
	g, p := newGated(t), newPlane()
	cfg := g.config(p)
	c := p.control()
	good := false
	c.GateIdentityFunc = func(context.Context) (string, error) {
		if p.mu.Lock(); !good {
			p.mu.Unlock()
			return "", errAway
		}
		p.mu.Unlock()
		return g.identity, nil
	}
	removed := false
	sync := c.SyncFunc
	c.SyncFunc = func(ctx context.Context, in protocol.Sync) (protocol.Desired, error) {
		p.mu.Lock()
		out := removed
		p.mu.Unlock()
		if out {
			return protocol.Desired{}, &protocol.Error{Code: protocol.CodeRevoked, Text: "removed"}
		}
		return sync(ctx, in)
	}
	cfg.Control, cfg.StopEngines = c, true
	run(t, cfg)
	word := "gate-needs-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word})
	p.order(s)
	st := p.wait(t, s.Shard, inventory.ShardFailed)
	if st.Cause != string(protocol.CauseAccess) || !strings.Contains(st.Error, "certificate") || len(processes(word)) > 0 {
		t.Errorf("got %+v", st)
	}
	p.edit(func(*protocol.Desired) { good = true })
	s2 := shardOf("m-2.0", nil)
	p.order(s2)
	st = p.wait(t, s2.Shard, inventory.ShardReady)
	if err := g.asked(st.Address); err != nil {
		t.Error(err)
	}
	p.edit(func(d *protocol.Desired) { removed = true; d.Version++ })
	until(t, "the gate is shut", func() bool { return g.asked(st.Address) != nil && gatePID(cfg.DataDir) == 0 })
}

// An agent that is killed leaves gate and engine, and the next one adopts both; a
// gate that dies beside it is another one then.
func TestKilledAgentAndGate(t *testing.T) {
	t.Parallel()
	const chunks = 400
	g := newGated(t)
	k := &killedAgent{t: t, dir: t.TempDir(), env: []string{
		"LLMGW_TEST_CGROUP=none", "LLMGW_TEST_PORTS=" + strconv.Itoa(28000+100*int(killedPorts.Add(1))),
		"LLMGW_TEST_GATE=" + g.identity, "LLMGW_TEST_MGMT=" + g.mgmt,
	}}
	data := filepath.Join(k.dir, "data")
	word := "gate-killed-" + k.dir
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word})
	k.order(s)
	k.start()
	until(t, "ready", func() bool { return k.said(s.Shard).State == inventory.ShardReady })
	address, pid := k.said(s.Shard).Address, gatePID(data)
	res, err := g.stream(address, chunks)
	if err != nil {
		t.Fatal(err)
	}
	again := func() {
		_ = os.Remove(filepath.Join(k.dir, "said"))
		k.start()
		until(t, "adopted", func() bool { st := k.said(s.Shard); return st.State == inventory.ShardReady && st.Adopted })
	}
	k.kill()
	again()
	g.whole(res, chunks)
	if now := gatePID(data); now != pid || k.said(s.Shard).Address != address {
		t.Errorf("the gate was %d and is %d", pid, now)
	}
	k.kill()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	again()
	if now := gatePID(data); now == pid || now == 0 || g.asked(k.said(s.Shard).Address) != nil {
		t.Errorf("the gate was %d and is %d", pid, now)
	}
	k.order()
	until(t, "nothing left", func() bool { return len(processes(word)) == 0 && gatePID(data) == 0 })
	k.kill()
}
