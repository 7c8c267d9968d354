package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestNoCgroups(t *testing.T) {
	t.Parallel()
	if g := FindCgroups("none").Make("x", Limits{}); len(g) > 0 {
		t.Errorf("a group where none is wanted: %s", g)
	}
	dir := t.TempDir() // no cgroup file system
	if g := FindCgroups(dir).Make("x", Limits{}); len(g) > 0 {
		t.Errorf("a group in a plain folder: %s", g)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("trying leaves %v", left)
	}
}

// TestLimitsAsWritten shows what is written for either kind of cgroup, on folders
// that are none.
func TestLimitsAsWritten(t *testing.T) {
	t.Parallel()
	limits := Limits{MemoryBytes: 1 << 30, Processes: 4096}
	tests := map[string]struct {
		of     hierarchy
		limits Limits
		want   string
	}{
		"v2":             {hierarchy{v2: true, memory: true, pids: true}, limits, "memory.max=1073741824 memory.oom.group=1 memory.swap.max=0 pids.max=4096"},
		"v2 pids alone":  {hierarchy{v2: true, pids: true}, limits, "pids.max=4096"},
		"v2 nothing":     {hierarchy{v2: true}, limits, ""},
		"v1 memory":      {hierarchy{memory: true}, limits, "memory.limit_in_bytes=1073741824 memory.memsw.limit_in_bytes=1073741824"},
		"v1 pids":        {hierarchy{pids: true}, limits, "pids.max=4096"},
		"none is wanted": {hierarchy{v2: true, memory: true, pids: true}, Limits{}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.of.dir = t.TempDir()
			c := Cgroups{parents: []hierarchy{tt.of}}
			g := c.Make("a", tt.limits)
			if got := written(t, g); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if memory, pids := c.Bounds(); memory != tt.of.memory || pids != tt.of.pids {
				t.Errorf("it says that it bounds memory %t, processes %t", memory, pids)
			}
		})
	}
}

// written is what the files of a group hold, in order.
func written(t *testing.T, g Group) string {
	t.Helper()
	if len(g) != 1 {
		t.Fatalf("got the group %v", g)
	}
	entries, err := os.ReadDir(g[0])
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		data, _ := os.ReadFile(filepath.Join(g[0], e.Name()))
		out = append(out, e.Name()+"="+string(data))
	}
	return strings.Join(out, " ")
}

func TestOwnCgroups(t *testing.T) {
	t.Parallel()
	const v1 = `31 30 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 30 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 30 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
34 30 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`
	const v2 = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
	tests := map[string]struct{ own, mounts, want string }{
		"v2":            {"0::/system.slice/a.service/agent\n", v2, "/sys/fs/cgroup/system.slice/a.service/agent"},
		"v2 at its top": {"0::/\n", v2, ""},
		"v1": {
			"9:name=systemd:/s\n8:pids:/s/a.service\n4:memory:/s/a.service\n2:cpu,cpuacct:/\n0::/\n", v1,
			"/sys/fs/cgroup/pids/s/a.service /sys/fs/cgroup/memory/s/a.service",
		},
		"both": {
			"4:memory:/s/a.service\n0::/s/a.service\n", v1,
			"/sys/fs/cgroup/memory/s/a.service /sys/fs/cgroup/unified/s/a.service",
		},
		"a part is mounted":     {"4:memory:/box/a\n", "31 30 0:29 /box /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "/sys/fs/cgroup/memory/a"},
		"another part is":       {"4:memory:/box/a\n", "31 30 0:29 /crate /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", ""},
		"one for both":          {"4:memory,pids:/a\n", "31 30 0:29 / /c rw - cgroup cgroup rw,memory,pids\n", "/c/a"},
		"not mounted":           {"4:memory:/a\n", v2, ""},
		"nothing of it is text": {"\x00\n:\n::\n", "-\n - \n31 30 - cgroup\n", ""},
	}
	for name, tt := range tests {
		if got := strings.Join(ownCgroups(tt.own, tt.mounts), " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestCountsOfKills(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file, text string
		n          int64
		ok         bool
	}{
		"v2":      {"memory.events", "low 0\noom 4\noom_kill 3\noom_group_kill 1\n", 3, true},
		"v1":      {"memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", 2, true},
		"old v1":  {"memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n", 0, false},
		"nothing": {"other", "oom_kill 1\n", 0, false},
	}
	for name, tt := range tests {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, ok := (Group{"/gone", dir}).oomKills(); n != tt.n || ok != tt.ok {
			t.Errorf("%s: got %d, %t", name, n, ok)
		}
	}
}

// cgroupV1 makes a place for groups in the real hierarchies, where this process
// may.
func cgroupV1(t *testing.T) Cgroups {
	t.Helper()
	var dirs []string
	for _, c := range []string{"memory", "pids"} {
		dir, err := os.MkdirTemp(filepath.Join("/sys/fs/cgroup", c), "llmgw-test-") //nolint:usetesting // a group is made in its own file system
		if err != nil {
			t.Skipf("no cgroup v1 of %s that this test may write to is mounted here: %v", c, err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		dirs = append(dirs, dir)
	}
	return FindCgroups(strings.Join(dirs, ":"))
}

// TestKilledForMemory runs a program into a limit that is real.
func TestKilledForMemory(t *testing.T) {
	t.Parallel()
	c := cgroupV1(t)
	if memory, pids := c.Bounds(); !memory || !pids {
		t.Fatalf("it says that it bounds memory %t, processes %t", memory, pids)
	}
	tests := map[string]struct{ script, code string }{
		"the process": {"exec dd if=/dev/zero of=/dev/null bs=1G count=1", "-1"},
		// The parent ends with a code of its own, as engines do whose worker died.
		"its child": {"dd if=/dev/zero of=/dev/null bs=1G count=1; exit 7", "7"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := c.Make(strconv.Itoa(len(name)), Limits{MemoryBytes: 32 << 20, Processes: 64})
			if len(g) != 2 {
				t.Fatalf("got the group %v", g)
			}
			p, _ := launched(t, Launch{Args: []string{"-c", tt.script}, Group: g})
			if exit := ended(t, p); !exit.OOMKilled || strconv.Itoa(exit.Code) != tt.code {
				t.Errorf("got %+v", exit)
			}
			if err := p.Sweep(); err != nil {
				t.Error(err)
			}
			for _, dir := range g {
				if _, err := os.Stat(dir); err == nil {
					t.Errorf("%s is left", dir)
				}
			}
		})
	}
}

// TestGroupFindsAll has a process that shed its environment, its session and its
// parent: its group tells whose it is, and that there may be no more of them.
func TestGroupFindsAll(t *testing.T) {
	t.Parallel()
	g := cgroupV1(t).Make("a", Limits{Processes: 8})
	p, output := launched(t, Launch{Group: g, Args: []string{"-c", `
		env -i /bin/sh -c 'setsid sleep 1000 & setsid sleep 1000 &'
		for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done 2>&1
		wait`}})
	until(t, "processes are refused", func() bool { return says(output, "Cannot fork") || says(output, "cannot fork") || p.Ended() })
	if left := g.pids(); len(left) < 2 || len(left) > 2*8 { // it stands in both hierarchies
		t.Errorf("the group has %v", left)
	}
	tree := Tree{Group: g} // all else is forgotten
	if err := tree.Kill(); err != nil {
		t.Error(err)
	}
	ended(t, p)
	if left := tree.members(false); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// TestGroupV2 is what cgroup v2 does where it has no controllers to give.
func TestGroupV2(t *testing.T) {
	t.Parallel()
	var dir string
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
			dir, _ = os.MkdirTemp(mount, "llmgw-test-") //nolint:usetesting // a group is made in its own file system
		}
	}
	if dir == "" {
		t.Skip("no cgroup v2 that this test may write to is mounted here")
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	g := FindCgroups(dir).Make("a", Limits{MemoryBytes: 1 << 30, Processes: 100})
	p, _ := launched(t, Launch{Group: g, Args: []string{"-c", "sleep 1000 & sleep 1000"}})
	until(t, "it is in its group", func() bool { return len(g.pids()) >= 2 && slices.Contains(g.pids(), p.ID().PID) })
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	if exit := ended(t, p); exit.Signal != int(syscall.SIGKILL) || exit.OOMKilled {
		t.Errorf("got %+v", exit)
	}
	if _, err := os.Stat(g[0]); err == nil {
		t.Error("the group is left")
	}
}
