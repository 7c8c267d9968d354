package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FindCgroups finds where groups can be made: in the folders of the setting, with
// colons between them; or, where that is empty, where this process is. The setting
// "none" gives none.
//
// Of cgroup v2 only a group will do that is not the root: where a service manager
// put the agent into a subgroup named "agent" its parent is used, and controllers
// are enabled there for limits of memory and of processes. They cannot be enabled
// in a group that has processes itself. Of v1, which has no such rule, the
// hierarchies of memory and pids are used.
func FindCgroups(set string) Cgroups {
	var dirs []string
	switch set {
	case "none":
	case "":
		own, _ := os.ReadFile("/proc/self/cgroup")
		mounts, _ := os.ReadFile("/proc/self/mountinfo")
		dirs = ownCgroups(string(own), string(mounts))
	default:
		dirs = filepath.SplitList(set)
	}
	var c Cgroups
	for _, dir := range dirs {
		if set == "" && filepath.Base(dir) == "agent" {
			dir = filepath.Dir(dir)
			_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+memory +pids"), 0o644)
		}
		if h, ok := tryCgroup(dir); ok {
			c.parents = append(c.parents, h)
		}
	}
	return c
}

// tryCgroup makes a group to see what groups there can do.
func tryCgroup(dir string) (hierarchy, bool) {
	try, err := os.MkdirTemp(dir, "llmgw-try-")
	if err != nil {
		return hierarchy{}, false
	}
	defer func() { _ = os.Remove(try) }()
	has := func(file string) bool {
		_, err := os.Stat(filepath.Join(try, file))
		return err == nil
	}
	h := hierarchy{
		dir: dir, v2: has("cgroup.kill"),
		memory: has("memory.max") || has("memory.limit_in_bytes"), pids: has("pids.max"),
	}
	return h, h.v2 || has("tasks")
}

// ownCgroups are the folders of the groups that a process is in, by what the
// kernel says of the process and of what is mounted.
func ownCgroups(own, mounts string) []string {
	var out []string
	for line := range strings.Lines(own) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, path, ok := strings.Cut(rest, ":")
		v2 := controllers == ""
		if !ok || v2 && path == "/" {
			continue
		}
		for c := range strings.SplitSeq(controllers, ",") {
			if v2 || c == "memory" || c == "pids" {
				if dir := cgroupDir(mounts, c, path); dir != "" && !slices.Contains(out, dir) {
					out = append(out, dir)
				}
			}
		}
	}
	return out
}

// cgroupDir is the folder of a group in the hierarchy of a controller, or of
// cgroup v2. Empty: it is not mounted, or only a part in which the group is not.
func cgroupDir(mounts, controller, path string) string {
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		where, what := strings.Fields(before), strings.Fields(after)
		if !ok || len(where) < 5 || len(what) < 3 {
			continue
		}
		v1 := what[0] == "cgroup" && slices.Contains(strings.Split(what[2], ","), controller)
		if controller == "" && what[0] != "cgroup2" || controller != "" && !v1 {
			continue
		}
		in, err := filepath.Rel(where[3], path)
		if err != nil || strings.HasPrefix(in, "..") {
			continue
		}
		return filepath.Join(where[4], in)
	}
	return ""
}

// oomKills counts kills for memory: of the group where it counts them, which is
// what own says, else of the whole machine.
func oomKills(g Group) (n int64, own bool) {
	if n, ok := g.oomKills(); ok {
		return n, true
	}
	n, _ = countIn("/proc/vmstat", "oom_kill")
	return n, false
}

// killedForMemory reports whether the kernel killed a part of the tree for memory
// since before, which was counted by own. A child that is killed takes its parent
// along with any code; the machine's count says something only of the process
// that a kill ended.
func killedForMemory(g Group, before int64, own, bySignal bool) bool {
	now, still := oomKills(g)
	return now > before && own == still && (own || bySignal)
}
