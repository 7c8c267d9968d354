package agent_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

const agentVariable = "LLMGW_TEST_AGENT"

// runAgentProcess is an agent in a process of its own, whose control plane is a
// folder: it reads what is desired from a file and writes what it says to
// another.
func runAgentProcess() {
	dir := os.Getenv(agentVariable)
	if dir == "" {
		return
	}
	base, err := strconv.Atoi(os.Getenv("LLMGW_TEST_PORTS"))
	if err != nil {
		panic(err)
	}
	control := &agenttest.Control{
		BeatFunc: func(_ context.Context, b protocol.Beat) (protocol.BeatAnswer, error) {
			return protocol.BeatAnswer{}, nil
		},
		SyncFunc: func(ctx context.Context, s protocol.Sync) (protocol.Desired, error) {
			data, err := json.Marshal(s.Shards)
			if err != nil {
				return protocol.Desired{}, err
			}
			if err := os.WriteFile(filepath.Join(dir, "said.new"), data, 0o600); err == nil {
				_ = os.Rename(filepath.Join(dir, "said.new"), filepath.Join(dir, "said"))
			}
			var d protocol.Desired
			data, err = os.ReadFile(filepath.Join(dir, "desired"))
			if err == nil {
				err = json.Unmarshal(data, &d)
			}
			time.Sleep(10 * time.Millisecond)
			return d, err
		},
	}
	mgmt := "127.0.0.1"
	if path := os.Getenv("LLMGW_TEST_GATE"); path != "" {
		mgmt = os.Getenv("LLMGW_TEST_MGMT")
		control.GateIdentityFunc = func(context.Context) (string, error) { return path, nil }
	}
	cfg := agent.Config{
		Gate: agenttest.Gate(), GatePortMin: 19600, GatePortMax: 19699,
		Node: "n1", Control: control, Prober: &agenttest.Prober{}, Engines: []agent.Engine{&agenttest.Toy{}},
		DataDir: filepath.Join(dir, "data"), PortMin: base, PortMax: base + 99, MgmtAddr: mgmt, Times: fast, CgroupParent: os.Getenv("LLMGW_TEST_CGROUP"),
	}
	if from, err := strconv.Atoi(os.Getenv("LLMGW_TEST_USERS")); err == nil {
		cfg.Isolation, cfg.UserMin, cfg.UserMax = agent.IsolationRequired, from, from+19
		cfg.Engines = []agent.Engine{&openToy{path: filepath.Join(dir, "toy")}}
	}
	a, err := agent.New(cfg)
	if err == nil {
		err = a.Run(context.Background())
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
	}
	os.Exit(1)
}

// killedAgent is a real agent process that is killed again and again.
type killedAgent struct {
	t   *testing.T
	dir string
	env []string
	cmd *exec.Cmd
}

func (k *killedAgent) start() {
	k.t.Helper()
	k.cmd = exec.Command(os.Args[0])
	k.cmd.Env = append(os.Environ(), agentVariable+"="+k.dir)
	k.cmd.Env = append(k.cmd.Env, k.env...)
	k.cmd.Stderr = os.Stderr
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
}

func (k *killedAgent) kill() {
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
}

func (k *killedAgent) order(shards ...protocol.DesiredShard) {
	k.t.Helper()
	data, err := json.Marshal(protocol.Desired{Epoch: 1, Version: uint64(time.Now().UnixNano()), Shards: shards})
	if err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(k.dir, "desired.new"), data, 0o600); err != nil {
		k.t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(k.dir, "desired.new"), filepath.Join(k.dir, "desired")); err != nil {
		k.t.Fatal(err)
	}
}

func (k *killedAgent) said(id string) (out inventory.ShardStatus) {
	data, _ := os.ReadFile(filepath.Join(k.dir, "said"))
	var list []inventory.ShardStatus
	_ = json.Unmarshal(data, &list)
	for _, s := range list {
		if s.ID == id {
			return s
		}
	}
	return out
}

// newKilled makes a folder for an agent, and its environment from the setting for
// cgroups. Users says that engines get users of their own.
func newKilled(t *testing.T, cgroup string, withUsers bool) *killedAgent {
	t.Helper()
	k := &killedAgent{t: t, dir: t.TempDir(), env: []string{
		"LLMGW_TEST_CGROUP=" + cgroup, "LLMGW_TEST_PORTS=" + strconv.Itoa(28000+100*int(killedPorts.Add(1))),
	}}
	if withUsers {
		cfg := isolated(t, newPlane()) // for the folder, which engines get to, and the range
		k.dir = filepath.Dir(cfg.DataDir)
		k.env = append(k.env, "LLMGW_TEST_USERS="+strconv.Itoa(cfg.UserMin))
	}
	return k
}

var killedPorts atomic.Int64

// kills is how often agents are killed: ten times, or as often as LLMGW_KILLS says.
func kills(t *testing.T) (n int, long bool) {
	t.Helper()
	set := os.Getenv("LLMGW_KILLS")
	if set == "" {
		return 10, false
	}
	n, err := strconv.Atoi(set)
	if err != nil {
		t.Fatal(err)
	}
	return n, true
}

// TestKilledAgent kills an agent at moments that differ from loop to loop: its two
// engines must be adopted or wholly gone each time, children and all, and never
// doubled (mostlygeek/llama-swap#99).
func TestKilledAgent(t *testing.T) {
	t.Parallel()
	modes := map[string]struct {
		cgroup string
		users  bool
	}{
		"sessions": {"none", false}, "cgroup v2": {testCgroup(t), false},
		"cgroup v1": {testCgroupV1(t), false}, "users": {"none", true}, "users and cgroup v1": {testCgroupV1(t), true},
	}
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if mode.cgroup == "" {
				t.Skip("no such cgroup that this test may write to is mounted here")
			}
			killedAgain(t, newKilled(t, mode.cgroup, mode.users))
		})
	}
}

// within holds what a long run may take against the clock: bounds that are ten
// times what is expected.
func within(t *testing.T, limit time.Duration, long bool, what string, do func()) {
	t.Helper()
	begun := time.Now()
	do()
	if took := time.Since(begun); long && took > limit {
		t.Errorf("%s took %s, more than %s", what, took.Round(time.Millisecond), limit)
	}
}

func killedAgain(t *testing.T, k *killedAgent) {
	t.Helper()
	loops, long := kills(t)
	words, shards := map[string]string{}, []protocol.DesiredShard{}
	for _, id := range []string{"a-1.0", "b-1.0"} {
		words[id] = "killed-" + id + k.dir
		shards = append(shards, shardOf(id, map[string]string{"TOY_SAY": words[id], "TOY_CHILDREN": "3"}))
	}
	k.order(shards...)
	settled := func() bool {
		for id := range words {
			if st := k.said(id).State; st != inventory.ShardReady && st != inventory.ShardFailed {
				return false
			}
		}
		return true
	}
	adopted := 0
	for i := range loops {
		_ = os.Remove(filepath.Join(k.dir, "said"))
		k.start()
		if i%3 == 0 { // at once, perhaps in the middle of a start
			time.Sleep(time.Duration(i%30) * 7 * time.Millisecond)
			k.kill()
			continue
		}
		within(t, 10*time.Second, long, "adopting", func() { until(t, "ready or failed", settled) })
		for id, word := range words {
			st, left := k.said(id), len(processes(word))
			if st.State == inventory.ShardReady && left != 4 || st.State == inventory.ShardFailed && left != 0 {
				t.Errorf("loop %d: %s is %s and has %d processes; want the engine and its 3 children, or nothing", i, id, st.State, left)
			}
			if st.Adopted {
				adopted++
			}
		}
		k.kill()
	}
	if adopted == 0 {
		t.Error("nothing was adopted in all these loops")
	}
	k.order()
	k.start()
	within(t, 30*time.Second, long, "leaving nothing", func() {
		until(t, "nothing left", func() bool { return len(processes("killed-a-1.0"+k.dir))+len(processes("killed-b-1.0"+k.dir)) == 0 })
	})
	k.kill()
}

// TestOldAgentKept starts a new agent while the old one still runs, as an upgrade
// may that goes wrong (gpustack/gpustack#2434): the new one waits, takes over once
// the old one is gone, and finds its engines as they were.
func TestOldAgentKept(t *testing.T) {
	t.Parallel()
	k := newKilled(t, "none", false)
	word := "kept-" + k.dir
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word, "TOY_CHILDREN": "1"})
	other := shardOf("m-2.0", map[string]string{"TOY_SAY": word, "TOY_CHILDREN": "1"})
	k.order(s, other)
	k.start()
	ready := func() bool {
		return k.said(s.Shard).State == inventory.ShardReady && k.said(other.Shard).State == inventory.ShardReady
	}
	until(t, "both are ready", ready)
	pids, was := processes(word), k.said(s.Shard)
	old := k.cmd
	k.start()
	_ = old.Process.Kill()
	_ = old.Wait()
	_ = os.Remove(filepath.Join(k.dir, "said"))
	until(t, "the new one adopts both", func() bool { return ready() && k.said(s.Shard).Adopted && k.said(other.Shard).Adopted })
	if is := k.said(s.Shard); is.Address != was.Address || is.Starts != was.Starts || !slices.Equal(processes(word), pids) {
		t.Errorf("was %+v %v, is %+v %v", was, pids, is, processes(word))
	}
	k.order()
	until(t, "nothing left", func() bool { return len(processes(word)) == 0 })
	k.kill()
}

// testCgroupV1 makes a cgroup v1 of memory and of pids for tests where that is
// possible.
func testCgroupV1(t *testing.T) string {
	t.Helper()
	var dirs []string
	for _, c := range []string{"memory", "pids"} {
		dir, err := os.MkdirTemp(filepath.Join("/sys/fs/cgroup", c), "llmgw-test-") //nolint:usetesting // a group is made in its own file system
		if err != nil {
			return ""
		}
		t.Cleanup(func() {
			left, _ := filepath.Glob(filepath.Join(dir, "llmgw-*"))
			for _, d := range append(left, dir) {
				_ = os.Remove(d)
			}
		})
		dirs = append(dirs, dir)
	}
	return strings.Join(dirs, ":")
}

// testCgroup makes a cgroup for tests where that is possible.
func testCgroup(t *testing.T) string {
	t.Helper()
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(filepath.Join(mount, "cgroup.procs")); err != nil {
			continue
		}
		dir := filepath.Join(mount, "llmgw-test-"+filepath.Base(t.TempDir())+"-"+time.Now().Format("150405.000"))
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() {
			left, _ := filepath.Glob(filepath.Join(dir, "llmgw-*"))
			for _, d := range append(left, dir) {
				_ = os.Remove(d)
			}
		})
		return dir
	}
	return ""
}
