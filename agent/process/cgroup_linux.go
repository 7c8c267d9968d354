package process

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// FindCgroups finds where groups can be made: under the folder of the setting;
// or, where that is empty, where this process is, if that is delegated to it. The
// setting "none" gives none. Only a cgroup v2 will do that is not the root and in
// which folders can be made. Where a service manager put the agent into a
// subgroup named "agent", its parent is used, and controllers are enabled there
// for memory events and limits of processes.
func FindCgroups(setting string) Cgroups {
	if setting == "none" {
		return Cgroups{}
	}
	parent := setting
	if parent == "" {
		if parent = ownCgroup(); parent == "" {
			return Cgroups{}
		}
		if filepath.Base(parent) == "agent" {
			parent = filepath.Dir(parent)
			_ = os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+memory +pids"), 0o644)
		}
	}
	try := filepath.Join(parent, "llmgw-try")
	if err := os.Mkdir(try, 0o755); err != nil && !os.IsExist(err) {
		return Cgroups{}
	}
	defer func() { _ = os.Remove(try) }()
	if _, err := os.Stat(filepath.Join(try, "cgroup.kill")); err != nil {
		return Cgroups{}
	}
	return Cgroups{parent: parent}
}

func ownCgroup() string {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if path, ok := strings.CutPrefix(line, "0::"); ok && path != "/" {
			if mount := cgroupMount(); mount != "" {
				return filepath.Join(mount, path)
			}
		}
	}
	return ""
}

// cgroupMount finds where cgroup v2 is mounted.
func cgroupMount() string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		before, after, ok := strings.Cut(s.Text(), " - ")
		if fields := strings.Fields(before); ok && strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return fields[4]
		}
	}
	return ""
}

func killCgroup(dir string) {
	if dir != "" {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0o644)
	}
}

// removeCgroup removes an empty group; one with processes stays.
func removeCgroup(dir string) {
	if dir != "" {
		_ = os.Remove(dir)
	}
}

// oomKills counts kills for memory: of the shard's group where it counts them,
// else of the whole machine.
func oomKills(cgroup string) int64 {
	if cgroup != "" {
		if n, ok := countIn(filepath.Join(cgroup, "memory.events"), "oom_kill"); ok {
			return n
		}
	}
	n, _ := countIn("/proc/vmstat", "oom_kill")
	return n
}

func countIn(path, key string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range bytes.SplitSeq(b, []byte("\n")) {
		if v, ok := strings.CutPrefix(string(line), key+" "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
