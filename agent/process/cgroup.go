package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Cgroups are the folders of cgroups under which trees get groups of their own:
// one of cgroup v2, or one for each controller of v1, or both where a machine has
// both. The zero value gives none, and trees are found in other ways.
type Cgroups struct{ parents []hierarchy }

// hierarchy is a folder of cgroups in which groups can be made, and what it can
// do.
type hierarchy struct {
	dir string
	// v2 says that it is of cgroup v2, and can kill a group at once.
	v2 bool
	// memory and pids say that its groups bound these.
	memory, pids bool
}

// Bounds says what groups can bound here.
func (c Cgroups) Bounds() (memory, pids bool) {
	for _, h := range c.parents {
		memory, pids = memory || h.memory, pids || h.pids
	}
	return memory, pids
}

// Group is a tree's group: its folder in each hierarchy. Empty: it has none.
type Group []string

// Limits bound what a whole tree uses. Zero: no limit.
type Limits struct {
	MemoryBytes int64
	// Processes counts threads too.
	Processes int
}

// Make makes a group with limits; one of that name that is empty is made anew.
// Where no group can be made it is empty, and a limit that cannot be set is left
// out: Bounds says which can.
func (c Cgroups) Make(name string, l Limits) Group {
	var g Group
	for _, h := range c.parents {
		dir := filepath.Join(h.dir, name)
		_ = os.Remove(dir)
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			continue
		}
		g = append(g, dir)
		for _, s := range h.settings(l) {
			_ = os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0o644)
		}
	}
	return g
}

type setting struct{ file, value string }

// settings are files and what is written to them, in order. Swap is no part of
// what was reserved, so none is given.
func (h hierarchy) settings(l Limits) []setting {
	var out []setting
	if h.pids && l.Processes > 0 {
		out = append(out, setting{"pids.max", strconv.Itoa(l.Processes)})
	}
	n := strconv.FormatInt(l.MemoryBytes, 10)
	switch {
	case !h.memory || l.MemoryBytes <= 0:
	case h.v2:
		// An engine is one thing: a part of it that is left would hang.
		out = append(out, setting{"memory.max", n}, setting{"memory.swap.max", "0"}, setting{"memory.oom.group", "1"})
	default:
		out = append(out, setting{"memory.limit_in_bytes", n}, setting{"memory.memsw.limit_in_bytes", n})
	}
	return out
}

// Prune removes groups whose names begin with prefix and that an earlier agent
// left empty. Those with processes stay: only empty ones can be removed.
func (c Cgroups) Prune(prefix string) {
	for _, h := range c.parents {
		left, _ := filepath.Glob(filepath.Join(h.dir, prefix+"*"))
		for _, dir := range left {
			_ = os.Remove(dir)
		}
	}
}

// kill kills a group at once where the kernel can, and keeps it from growing.
func (g Group) kill() {
	for _, dir := range g {
		for _, s := range []setting{{"cgroup.kill", "1"}, {"pids.max", "0"}} {
			write(filepath.Join(dir, s.file), s.value)
		}
	}
}

// write writes to a file that must be there.
func write(path, value string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	_, _ = f.WriteString(value)
	_ = f.Close()
}

// remove removes an empty group; one with processes stays.
func (g Group) remove() {
	for _, dir := range g {
		_ = os.Remove(dir)
	}
}

// pids are the processes in a group, and in groups that they made below it.
func (g Group) pids() []int {
	var out []int
	for _, dir := range g {
		for _, name := range []string{"cgroup.procs", "*/cgroup.procs", "*/*/cgroup.procs"} {
			files, _ := filepath.Glob(filepath.Join(dir, name))
			for _, file := range files {
				data, _ := os.ReadFile(file)
				for field := range bytes.FieldsSeq(data) {
					if pid, err := strconv.Atoi(string(field)); err == nil && pid > 1 {
						out = append(out, pid)
					}
				}
			}
		}
	}
	return out
}

// oomKills counts the group's kills for memory. False: it does not count them.
func (g Group) oomKills() (int64, bool) {
	for _, dir := range g {
		for _, name := range []string{"memory.events", "memory.oom_control"} {
			if n, ok := countIn(filepath.Join(dir, name), "oom_kill"); ok {
				return n, true
			}
		}
	}
	return 0, false
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
