package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// kill kills every process of the tree, again and again until none is left: one
// that is just being forked is not in the first list. Ours says that the leader's
// number cannot have been given to somebody else meanwhile, so that its session
// is known to be this tree's.
func (t Tree) kill(ours bool) error {
	t.Group.kill()
	for range 100 {
		pids := t.members(ours)
		if len(pids) == 0 {
			t.Group.remove()
			return nil
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errLeft
}

// members are the live processes with the tree's mark, its user or its group, in
// the leader's session, or below any of these.
func (t Tree) members(ours bool) []int {
	sameSession := t.Leader.PID > 1 && (ours || alive(t.Leader))
	procs := listProcesses()
	in := map[int]bool{}
	for pid, s := range procs {
		in[pid] = sameSession && s.session == t.Leader.PID || t.UID != 0 && uidOf(pid) == t.UID || t.Mark != "" && markOf(pid) == t.Mark
	}
	for _, pid := range t.Group.pids() {
		if _, runs := procs[pid]; runs {
			in[pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, s := range procs {
			if !in[pid] && in[s.parent] {
				in[pid], grown = true, true
			}
		}
	}
	var out []int
	for pid, yes := range in {
		if yes && pid != os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}

// KillStrays kills trees whose mark begins with prefix and is not known: those
// that an agent started and had no time to keep. It counts the trees, and is
// called before anything is started.
func KillStrays(prefix string, known map[string]bool) (killed int) {
	marks := map[string]bool{}
	for pid := range listProcesses() {
		if m := markOf(pid); strings.HasPrefix(m, prefix) && !known[m] {
			marks[m] = true
		}
	}
	for m := range marks {
		if (Tree{Mark: m}).Kill() == nil {
			killed++
		}
	}
	return killed
}

// use is the resident memory of a tree that runs, and the processor time it has
// used.
func (t Tree) use() (bytes int64, ticks uint64) {
	page := int64(os.Getpagesize())
	for _, pid := range t.members(true) {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
		if err != nil {
			continue
		}
		if f := strings.Fields(string(b)); len(f) > 1 {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			bytes += n * page
		}
		if s, err := readStat(pid); err == nil {
			ticks += s.ticks
		}
	}
	return bytes, ticks
}
