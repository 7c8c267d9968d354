package agent_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/process"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// users keeps the agents of tests that run at once apart.
var users atomic.Int64

// isolated is a configuration of an agent that gives engines users of their own:
// in a folder that they get to, as they do not to those of tests.
func isolated(t *testing.T, p *plane) agent.Config {
	t.Helper()
	cfg := config(t, p)
	cfg.UserMin = 64000 + 20*int(users.Add(1))
	cfg.UserMax = cfg.UserMin + 19
	if err := process.CanSwitch(cfg.UserMin, cfg.UserMax); err != nil {
		t.Skipf("no other users here: %v", err)
	}
	dir, err := os.MkdirTemp("/tmp", "llmgw-test-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cfg.DataDir, cfg.Isolation = filepath.Join(dir, "data"), agent.IsolationRequired
	leavesNothing(t, cfg.DataDir)
	toy := &openToy{path: filepath.Join(dir, "toy")}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o711), os.Link(self, toy.path)); err != nil {
		t.Skipf("the test's own program cannot be opened to other users: %v", err)
	}
	cfg.Engines = []agent.Engine{toy}
	return cfg
}

// openToy is a toy engine whose program every user gets to.
type openToy struct {
	agenttest.Toy
	path string
}

func (o *openToy) Command(s protocol.DesiredShard, at protocol.Launch) (protocol.Command, error) {
	cmd, err := o.Toy.Command(s, at)
	cmd.Path = o.path
	return cmd, err
}

// statusOf is what the kernel says of a process.
func statusOf(t *testing.T, pid int) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(line, ":")
		out[key] = strings.Join(strings.Fields(value), " ")
	}
	return out
}

func uidsOf(t *testing.T, pids []int) []int {
	t.Helper()
	var out []int
	for _, pid := range pids {
		first, _, _ := strings.Cut(statusOf(t, pid)["Uid"], " ")
		uid, err := strconv.Atoi(first)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, uid)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestEnginesHaveUsersOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := isolated(t, p)
	stop := run(t, cfg)
	words, shards := map[string]string{}, []protocol.DesiredShard{}
	for _, id := range []string{"a-1.0", "b-1.0"} {
		words[id] = id + t.TempDir()
		shards = append(shards, shardOf(id, map[string]string{"TOY_SAY": words[id], "TOY_CHILDREN": "2"}))
	}
	p.order(shards...)
	uids, pids := map[string]int{}, map[string][]int{}
	for id, word := range words {
		p.wait(t, id, inventory.ShardReady)
		until(t, "engine and children", func() bool { return len(processes(word)) == 3 })
		pids[id] = processes(word)
		of := uidsOf(t, pids[id])
		if len(of) != 1 || of[0] <= cfg.UserMin || of[0] > cfg.UserMax {
			t.Fatalf("%s runs as %v, want one user after %d", id, of, cfg.UserMin)
		}
		uids[id] = of[0]
		for _, pid := range pids[id] {
			if s := statusOf(t, pid); s["NoNewPrivs"] != "1" || s["CapEff"] != "0000000000000000" || s["Groups"] != strconv.Itoa(cfg.UserMin) {
				t.Errorf("%s has new privileges %s, rights %s, groups %s", id, s["NoNewPrivs"], s["CapEff"], s["Groups"])
			}
		}
	}
	if uids["a-1.0"] == uids["b-1.0"] {
		t.Error("two shards have one user")
	}
	folders, _ := filepath.Glob(filepath.Join(cfg.DataDir, "shards", "*", "work-*"))
	if len(folders) != 2 {
		t.Fatalf("the folders are %v", folders)
	}
	for id, uid := range uids {
		u := process.User{UID: uid, GID: uid, Groups: []int{cfg.UserMin}}
		own := 0
		for _, dir := range folders {
			ours := strings.HasSuffix(dir, "work-"+strconv.Itoa(uid))
			if err := process.Reaches(u, filepath.Join(dir, "toy.conf"), process.NeedRead); (err == nil) != ours {
				t.Errorf("%s reads %s, which is its own: %t; got %v", id, dir, ours, err)
			} else if ours {
				own++
			}
			log := filepath.Join(filepath.Dir(dir), "engine.log")
			if process.Reaches(u, log, process.NeedRead) == nil {
				t.Errorf("%s can open its log by name", id)
			}
		}
		if own != 1 {
			t.Errorf("%s has %d folders", id, own)
		}
		for _, secret := range []string{"", "state.json", "lock", "shards"} {
			if process.Reaches(u, filepath.Join(cfg.DataDir, secret), process.NeedRead) == nil {
				t.Errorf("%s can read the agent's %q", id, secret)
			}
		}
	}

	stop()
	p.forgetSeen()
	run(t, cfg)
	for id, word := range words {
		if st := p.wait(t, id, inventory.ShardReady); !st.Adopted || !slices.Equal(processes(word), pids[id]) {
			t.Errorf("%s was %v and is %v: %+v", id, pids[id], processes(word), st)
		}
	}
	p.order()
	for id, uid := range uids {
		until(t, id+" is forgotten", func() bool { return p.status(id).ID == "" })
		if process.UserBusy(uid) {
			t.Errorf("a process of %s is left", id)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(cfg.DataDir, "shards", "*", "work*")); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// forgetSeen makes the plane wait for news.
func (p *plane) forgetSeen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.seen)
}

func TestWeightsAreReadOnly(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := isolated(t, p)
	weights := filepath.Join(cfg.DataDir, "weights", "m", "w.gguf")
	closed := filepath.Join(t.TempDir(), "w.gguf")
	for _, path := range []string{weights, closed} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("GGUF"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, cfg)
	ours, theirs := shardOf("a-1.0", nil), shardOf("b-1.0", nil)
	ours.Source, theirs.Source = "file://"+weights, "file://"+closed
	p.order(ours, theirs)
	p.clear(t)
	p.wait(t, ours.Shard, inventory.ShardReady)
	u := process.User{UID: cfg.UserMin + 1, GID: cfg.UserMin + 1, Groups: []int{cfg.UserMin}}
	if err := process.Reaches(u, weights, process.NeedRead); err != nil {
		t.Error(err)
	}
	const write = 2
	if process.Reaches(u, weights, write) == nil || process.Reaches(u, filepath.Dir(weights), write) == nil {
		t.Error("the engine can write its weights")
	}
	stranger := process.User{UID: cfg.UserMin + 1, GID: cfg.UserMin + 1}
	if process.Reaches(stranger, weights, process.NeedRead) == nil {
		t.Error("every user of the machine reads weights")
	}
	st := p.wait(t, theirs.Shard, inventory.ShardFailed)
	if st.Cause != string(protocol.CauseFile) || !strings.Contains(st.Error, "is closed to it") {
		t.Errorf("weights that the engine cannot read: %+v", st)
	}
}

func TestIsolationIsSaid(t *testing.T) {
	t.Parallel()
	facts := func(t *testing.T, cfg agent.Config, p *plane) inventory.Facts {
		t.Helper()
		got := make(chan inventory.Facts, 1)
		control := p.control()
		control.SyncFunc = func(ctx context.Context, s protocol.Sync) (protocol.Desired, error) {
			if s.Facts != nil {
				select {
				case got <- *s.Facts:
				default:
				}
			}
			return p.sync(ctx, s)
		}
		cfg.Control = control
		run(t, cfg)
		return <-got
	}
	p := newPlane()
	cfg := isolated(t, p)
	if w := strings.Join(facts(t, cfg, p).Warnings, "\n"); strings.Contains(w, "own user") || !strings.Contains(w, "no cgroup") {
		t.Errorf("with users and without cgroups it warns: %s", w)
	}
	p = newPlane()
	if w := strings.Join(facts(t, config(t, p), p).Warnings, "\n"); !strings.Contains(w, "engines run as the agent's own user (") {
		t.Errorf("without users it warns: %s", w)
	}
	cfg = config(t, newPlane())
	cfg.Isolation = agent.IsolationRequired
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "isolation is required") {
		t.Errorf("in a folder that engines do not get to: %v", err)
	}
}

// TestMemoryLimit has an engine that takes more memory than it reserved.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	parent := testCgroupV1(t)
	if parent == "" {
		t.Skip("no cgroup v1 of memory and of pids that this test may write to is mounted here")
	}
	parents := strings.Split(parent, ":")
	p := newPlane()
	cfg := config(t, p)
	cfg.CgroupParent = parent
	var eats atomic.Bool
	cfg.Engines = []agent.Engine{&agenttest.Engine{
		CommandFunc: func(protocol.DesiredShard, protocol.Launch) (protocol.Command, error) {
			return protocol.Command{Path: "/bin/sh", Args: []string{"-c", "sleep 0.1; dd if=/dev/zero of=/dev/null bs=1G count=1; exit 1"}, Env: []string{"PATH=" + os.Getenv("PATH")}}, nil
		},
		ReadyFunc: func(context.Context, protocol.Endpoint) error {
			groups, _ := filepath.Glob(filepath.Join(parents[0], "llmgw-*", "memory.limit_in_bytes"))
			if len(groups) == 1 {
				limit, _ := os.ReadFile(groups[0])
				eats.Store(strings.TrimSpace(string(limit)) == strconv.Itoa((64+512)<<20))
			}
			return errors.New("not yet")
		},
	}}
	run(t, cfg)
	s := shardOf("m-1.0", nil)
	s.MemoryMB, s.StartTimeout = 64, 5*time.Minute // half a GiB is much for a machine that is busy
	p.order(s)
	if st := p.wait(t, s.Shard, inventory.ShardFailed); st.Cause != string(protocol.CauseMemory) {
		t.Errorf("got %+v", st)
	}
	if !eats.Load() {
		t.Error("its group was not limited to what was reserved and what there is above")
	}
	p.order()
	until(t, "its groups are gone", func() bool {
		left, _ := filepath.Glob(filepath.Join(parents[0], "llmgw-*"))
		return len(left) == 0
	})
}

// TestLinksAreNotFollowed has what a broken engine may leave in its folder.
func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := isolated(t, p)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := run(t, cfg)
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": "links-" + t.TempDir()})
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardReady)
	dirs, _ := filepath.Glob(filepath.Join(cfg.DataDir, "shards", "*", "work-*"))
	if len(dirs) != 1 {
		t.Fatalf("got %v", dirs)
	}
	conf := filepath.Join(dirs[0], "toy.conf")
	if err := errors.Join(os.Remove(conf), os.Symlink(victim, conf)); err != nil {
		t.Fatal(err)
	}
	for _, pid := range processes(s.Env["TOY_SAY"]) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	p.wait(t, s.Shard, inventory.ShardFailed)
	stop()
	p.setAway(true) // nobody is asked, so the agent starts it again
	p.forgetSeen()
	run(t, cfg)
	p.clear(t)
	until(t, "it is written anew", func() bool {
		info, err := os.Lstat(conf)
		return err == nil && info.Mode().Type() == fs.FileMode(0)
	})
	if data, _ := os.ReadFile(victim); string(data) != "untouched" {
		t.Errorf("what it pointed to holds %q", data)
	}
	p.setAway(false)
	p.wait(t, s.Shard, inventory.ShardReady)
}
