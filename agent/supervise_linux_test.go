package agent_test

import (
	"context"
	"encoding/json"
	"net"
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
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// processes finds live processes by a word in their environment.
func processes(word string) []int {
	var out []int
	names, _ := os.ReadDir("/proc")
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		env, _ := os.ReadFile(filepath.Join("/proc", n.Name(), "environ"))
		stat, _ := os.ReadFile(filepath.Join("/proc", n.Name(), "stat"))
		if strings.Contains(string(env), word) && !strings.Contains(string(stat), ") Z ") {
			out = append(out, pid)
		}
	}
	return out
}

func TestShardLife(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	run(t, cfg)
	word := "life-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word, "TOY_CHILDREN": "2"})
	p.order(s)
	st := p.wait(t, s.Shard, inventory.ShardReady)
	if !answers(t, st.Address, s.EngineKey) || st.Model != "m" || st.Starts != 1 {
		t.Errorf("the engine does not serve at %q: %+v", st.Address, st)
	}
	until(t, "engine and children", func() bool { return len(processes(word)) == 3 })

	s.Want = protocol.WantDrain
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardDraining)
	if !answers(t, st.Address, s.EngineKey) {
		t.Error("a draining engine was stopped")
	}

	s.Want = protocol.WantStop
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardStopped)
	if left := processes(word); len(left) > 0 {
		t.Errorf("processes are left after the stop: %v", left)
	}
	p.order()
	until(t, "the shard is forgotten", func() bool { return p.status(s.Shard).ID == "" })
	dir := filepath.Join(cfg.DataDir, "shards")
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if !d.IsDir() && !strings.HasPrefix(d.Name(), "engine.log") {
			t.Errorf("%s is left", path)
		}
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	got := slices.Compact(p.history[s.Shard])
	want := []inventory.ShardState{inventory.ShardReady, inventory.ShardDraining, inventory.ShardStopped}
	got = slices.DeleteFunc(got, func(s inventory.ShardState) bool {
		return s == inventory.ShardPending || s == inventory.ShardStarting
	})
	if !slices.Equal(got, want) {
		t.Errorf("states were %v, want %v", got, want)
	}
}

func TestNothingSecretInArguments(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	run(t, cfg)
	word := "secret-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word})
	p.order(s)
	p.clear(t)
	p.wait(t, s.Shard, inventory.ShardReady)
	for _, pid := range processes(word) {
		args, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if strings.Contains(string(args), s.EngineKey) {
			t.Error("the key stands in the arguments")
		}
		if strings.Contains(string(env), "HOME="+os.Getenv("HOME")+"\x00") {
			t.Error("the engine has the agent's environment")
		}
	}
	for _, name := range []string{"state.json", "lock"} {
		info, err := os.Stat(filepath.Join(cfg.DataDir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestEveryExitIsAFailure(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"0", "3"} {
		p := newPlane()
		run(t, config(t, p))
		s := shardOf("m-1.0", map[string]string{"TOY_SAY": "last words", "TOY_EXIT": code})
		p.order(s)
		st := p.wait(t, s.Shard, inventory.ShardFailed)
		if st.Cause != string(protocol.CauseExited) || !strings.Contains(strings.Join(st.LastLines, "\n"), "last words") {
			t.Errorf("exit %s: %+v", code, st)
		}
	}
}

func TestDeafEngineIsAskedTwice(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	cfg.Times.Kill = time.Minute
	run(t, cfg)
	s := shardOf("m-1.0", map[string]string{"TOY_DEAF": "1"})
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardReady)
	p.order()
	until(t, "the shard is forgotten", func() bool { return p.status(s.Shard).ID == "" })
	logs, _ := filepath.Glob(filepath.Join(cfg.DataDir, "shards", "*", "engine.log"))
	data, _ := os.ReadFile(logs[0])
	if !strings.Contains(string(data), "hears nothing") {
		t.Errorf("the engine was not asked: %s", data)
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	word := "adopt-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word})
	p.order(s)
	stop := run(t, cfg)
	was := p.wait(t, s.Shard, inventory.ShardReady)
	pids := processes(word)
	stop()
	if !answers(t, was.Address, s.EngineKey) {
		t.Fatal("the engine ended with its agent")
	}
	p.mu.Lock()
	clear(p.seen)
	p.mu.Unlock()
	// The control plane is away: the agent knows what it wants all the same.
	p.setAway(true)
	run(t, cfg)
	p.clear(t)
	until(t, "engine untouched", func() bool { return answers(t, was.Address, s.EngineKey) })
	p.setAway(false)
	is := p.wait(t, s.Shard, inventory.ShardReady)
	if !is.Adopted || is.Address != was.Address || is.Starts != was.Starts || !slices.Equal(processes(word), pids) {
		t.Errorf("not adopted: was %+v %v, is %+v %v", was, pids, is, processes(word))
	}
}

func TestOrderedAwayWhileAgentWasGone(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	word := "gone-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word, "TOY_CHILDREN": "1"})
	p.order(s)
	stop := run(t, cfg)
	p.wait(t, s.Shard, inventory.ShardReady)
	stop()
	p.order()
	run(t, cfg)
	until(t, "nothing left", func() bool { return len(processes(word)) == 0 })
}

func TestEngineDiedWhileAgentWasGone(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	word := "died-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word, "TOY_CHILDREN": "2"})
	p.order(s)
	stop := run(t, cfg)
	p.wait(t, s.Shard, inventory.ShardReady)
	stop()
	for _, pid := range processes(word) {
		exe, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		if self, _ := os.Executable(); exe == self {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	until(t, "only the children are left", func() bool { return len(processes(word)) == 2 })
	run(t, cfg)
	st := p.wait(t, s.Shard, inventory.ShardFailed)
	if !strings.Contains(st.Error, "while the agent was not running") {
		t.Errorf("got %+v", st)
	}
	if left := processes(word); len(left) > 0 {
		t.Errorf("children outlive their engine: %v", left)
	}
}

func TestFailedEngine(t *testing.T) {
	t.Parallel()
	kill := func(t *testing.T, word string) {
		for _, pid := range processes(word) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	t.Run("is the control plane's while it is there", func(t *testing.T) {
		t.Parallel()
		p := newPlane()
		run(t, config(t, p))
		word := "there-" + t.TempDir()
		s := shardOf("m-1.0", map[string]string{"TOY_SAY": word})
		p.order(s)
		p.wait(t, s.Shard, inventory.ShardReady)
		kill(t, word)
		p.wait(t, s.Shard, inventory.ShardFailed)
		p.order(s) // another version, the same shard
		if st := p.wait(t, s.Shard, inventory.ShardFailed); st.Starts != 1 {
			t.Errorf("started again without an order: %+v", st)
		}
	})
	t.Run("is started again while nobody is there", func(t *testing.T) {
		t.Parallel()
		p := newPlane()
		cfg := config(t, p)
		run(t, cfg)
		word := "away-" + t.TempDir()
		s := shardOf("m-1.0", map[string]string{"TOY_SAY": word})
		p.order(s)
		p.clear(t)
		st := p.wait(t, s.Shard, inventory.ShardReady)
		p.setAway(true)
		kill(t, word)
		until(t, "the engine is back", func() bool { return answers(t, st.Address, s.EngineKey) })
		p.setAway(false)
		until(t, "told of it", func() bool { return p.status(s.Shard).Starts == 2 })
	})
}

// Ten shards that start at once get ten ports, and each is kept on disk before
// its engine is started (gpustack/gpustack#1466).
func TestPortsAreDistinct(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	cfg.Engines = []agent.Engine{&agenttest.Engine{CommandFunc: func(d protocol.DesiredShard, at protocol.Launch) (protocol.Command, error) {
		var kept struct{ Shards map[string]struct{ Port int } }
		if data, err := os.ReadFile(filepath.Join(cfg.DataDir, "state.json")); err != nil || json.Unmarshal(data, &kept) != nil {
			t.Errorf("the state cannot be read: %v", err)
		}
		if kept.Shards[d.Shard].Port != at.Port {
			t.Errorf("%s is to listen at %d, which is not kept: %v", d.Shard, at.Port, kept)
		}
		return protocol.Command{Path: "/bin/sleep", Args: []string{"1000000"}}, nil
	}}}
	run(t, cfg)
	var list []protocol.DesiredShard
	for i := range 10 {
		list = append(list, shardOf("m-"+strconv.Itoa(i)+".0", nil))
	}
	p.order(list...)
	p.clear(t)
	ports := map[string]string{}
	for _, s := range list {
		st := p.wait(t, s.Shard, inventory.ShardReady)
		if other, ok := ports[st.Address]; ok {
			t.Errorf("%s and %s have %s", s.Shard, other, st.Address)
		}
		ports[st.Address] = s.Shard
	}
}

func TestForeignProgramOnThePort(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	first := true
	cfg.Engines = []agent.Engine{&agenttest.Engine{ReadyFunc: func(context.Context, protocol.Endpoint) error {
		if first {
			first = false
			return protocol.ErrForeign
		}
		return nil
	}}}
	run(t, cfg)
	s := shardOf("m-1.0", nil)
	p.order(s)
	if st := p.wait(t, s.Shard, inventory.ShardFailed); st.Cause != string(protocol.CauseForeign) {
		t.Errorf("got %+v", st)
	}
}

func TestStartTimeout(t *testing.T) {
	t.Parallel()
	p := newPlane()
	run(t, config(t, p))
	word := "slow-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word, "TOY_SLOW": "1h"})
	s.StartTimeout = 300 * time.Millisecond
	p.order(s)
	st := p.wait(t, s.Shard, inventory.ShardFailed)
	if st.Cause != string(protocol.CauseTimeout) || len(processes(word)) > 0 {
		t.Errorf("got %+v, left %v", st, processes(word))
	}
}

func TestRefusedShards(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	tests := map[string]struct {
		config func(*agent.Config)
		shard  func(*protocol.DesiredShard)
		cause  protocol.Cause
	}{
		"engine_access":   {func(c *agent.Config) { c.MgmtAddr = "10.1.2.3" }, nil, protocol.CauseAccess},
		"unknown engine":  {nil, func(s *protocol.DesiredShard) { s.Engine = "vllm" }, protocol.CauseEngine},
		"unknown build":   {nil, func(s *protocol.DesiredShard) { s.Build = "cu999" }, protocol.CauseEngine},
		"missing weights": {nil, func(s *protocol.DesiredShard) { s.Source = "file:///no/such/file" }, protocol.CauseFile},
		"port taken":      {nil, func(s *protocol.DesiredShard) { s.Port = l.Addr().(*net.TCPAddr).Port }, protocol.CausePort},
		"full disk":       {func(c *agent.Config) { c.LowWaterBytes = 1 << 62 }, nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			cfg := config(t, p)
			s := shardOf("m-1.0", nil)
			if tt.config != nil {
				tt.config(&cfg)
			}
			if tt.shard != nil {
				tt.shard(&s)
			}
			run(t, cfg)
			p.order(s)
			if tt.cause == "" {
				p.clear(t)
				p.wait(t, s.Shard, inventory.ShardReady) // nothing is to be fetched
				return
			}
			if st := p.wait(t, s.Shard, inventory.ShardFailed); st.Cause != string(tt.cause) || st.Error == "" {
				t.Errorf("got %+v, want cause %s", st, tt.cause)
			}
		})
	}
}
