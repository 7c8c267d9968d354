package agent_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
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
	base := 28000
	if os.Getenv("LLMGW_TEST_CGROUP") != "none" {
		base = 28500
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
	a, err := agent.New(agent.Config{
		Node: "n1", Control: control, Prober: &agenttest.Prober{}, Engines: []agent.Engine{&agenttest.Toy{}},
		DataDir: filepath.Join(dir, "data"), PortMin: base, PortMax: base + 99, MgmtAddr: "127.0.0.1", Times: fast, CgroupParent: os.Getenv("LLMGW_TEST_CGROUP"),
	})
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
	t      *testing.T
	dir    string
	cgroup string
	cmd    *exec.Cmd
}

func (k *killedAgent) start() {
	k.t.Helper()
	k.cmd = exec.Command(os.Args[0])
	k.cmd.Env = append(os.Environ(), agentVariable+"="+k.dir, "LLMGW_TEST_CGROUP="+k.cgroup)
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

// TestKilledAgent kills an agent at moments that differ from loop to loop: its
// engine must be adopted or wholly gone each time, and never doubled.
func TestKilledAgent(t *testing.T) {
	t.Parallel()
	for name, parent := range map[string]string{"sessions": "none", "cgroups": testCgroup(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if parent == "" {
				t.Skip("no cgroup v2 that this test may write to is mounted here")
			}
			k := &killedAgent{t: t, dir: t.TempDir(), cgroup: parent}
			word := "killed-" + k.dir
			s := shardOf("m-1.0", map[string]string{"TOY_SAY": word, "TOY_CHILDREN": "3"})
			k.order(s)
			for i := range 10 {
				_ = os.Remove(filepath.Join(k.dir, "said"))
				k.start()
				switch i % 3 {
				case 0: // at once, perhaps in the middle of a start
					time.Sleep(time.Duration(i) * 7 * time.Millisecond)
				default:
					until(t, "ready or failed", func() bool {
						st := k.said(s.Shard).State
						return st == inventory.ShardReady || st == inventory.ShardFailed
					})
					if k.said(s.Shard).State == inventory.ShardReady {
						if got := len(processes(word)); got != 4 {
							t.Errorf("loop %d: %d processes, want the engine and its 3 children", i, got)
						}
					}
				}
				k.kill()
			}
			k.order()
			k.start()
			until(t, "nothing left", func() bool { return len(processes(word)) == 0 })
			k.kill()
		})
	}
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
