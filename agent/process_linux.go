package agent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

const termSignal = syscall.SIGTERM

// startProcess starts an engine in a session of its own, and in its cgroup when
// there is one, from its first instruction on.
func startProcess(l launch) (*process, error) {
	log, err := openLog(l.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(l.path, l.args...)
	cmd.Env = append(append([]string{}, l.env...), markVariable+"="+l.mark)
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if l.cgroup != "" {
		d, err := os.Open(l.cgroup)
		if err != nil {
			return nil, fmt.Errorf("the shard's cgroup: %w", err)
		}
		defer d.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(d.Fd())
	}
	killed := oomKills(l.cgroup)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// The agent may be kept from the kernel's choice; its engines must not be.
	_ = os.WriteFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "oom_score_adj"), []byte("0"), 0o644)
	p := &process{id: identify(cmd.Process.Pid), mark: l.mark, cgroup: l.cgroup, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		p.exit = exitOf(cmd.ProcessState)
		p.exit.OOMKilled = p.exit.Signal == int(syscall.SIGKILL) && oomKills(l.cgroup) > killed
		close(p.done)
	}()
	return p, nil
}

func exitOf(s *os.ProcessState) protocol.Exit {
	ws, ok := s.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return protocol.Exit{Code: -1, Signal: int(ws.Signal())}
	}
	return protocol.Exit{Code: s.ExitCode()}
}

// adoptProcess takes over a process that an earlier agent started. It is not
// our child, so how it ends cannot be known, only that it did.
func adoptProcess(id processID, mark, cgroup string, look time.Duration) (*process, bool) {
	if !alive(id) {
		return nil, false
	}
	p := &process{id: id, mark: mark, cgroup: cgroup, adopted: true, done: make(chan struct{})}
	killed := oomKills(cgroup)
	go func() {
		t := time.NewTicker(look)
		defer t.Stop()
		for alive(id) {
			<-t.C
		}
		p.exit = protocol.Exit{Code: -1, OOMKilled: cgroup != "" && oomKills(cgroup) > killed}
		close(p.done)
	}()
	return p, true
}

// identify reads what tells a process from another of the same number. A
// process that ended already has no start time, and is alive to nobody.
func identify(pid int) processID {
	id := processID{PID: pid, Boot: bootID()}
	if s, err := readStat(pid); err == nil {
		id.Start = s.start
	}
	return id
}

// alive reports whether exactly that process still runs. One that ended and
// waits for its parent does not.
func alive(id processID) bool {
	if id.PID <= 1 || id.Start == 0 || id.Boot != bootID() {
		return false
	}
	s, err := readStat(id.PID)
	return err == nil && s.start == id.Start && s.state != 'Z' && s.state != 'X'
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return string(bytes.TrimSpace(b))
}

// stat is what is needed of /proc/PID/stat.
type stat struct {
	state   byte
	parent  int
	session int
	start   uint64
}

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, err
	}
	// The name stands in brackets and may hold anything, brackets too.
	i := bytes.LastIndexByte(b, ')')
	f := strings.Fields(string(b[i+1:]))
	if i < 0 || len(f) < 20 || len(f[0]) != 1 {
		return stat{}, errors.New("agent: /proc/PID/stat has another form than expected")
	}
	s := stat{state: f[0][0]}
	s.parent, _ = strconv.Atoi(f[1])
	s.session, _ = strconv.Atoi(f[3])
	s.start, err = strconv.ParseUint(f[19], 10, 64)
	return s, err
}

// signalGroup asks the whole process group, whose leader the engine is.
func signalGroup(p *process, sig syscall.Signal) {
	if p.ended() || p.adopted && !alive(p.id) {
		return
	}
	_ = syscall.Kill(-p.id.PID, sig)
}

// killTree kills every process of a shard, again and again until none is left:
// one that is just being forked is not in the first list.
func killTree(t tree) error {
	killCgroup(t.cgroup)
	for range 100 {
		pids := t.members()
		if len(pids) == 0 {
			removeCgroup(t.cgroup)
			return nil
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errTree
}

// members are the live processes with the shard's mark, in the leader's
// session, or below any of these.
func (t tree) members() []int {
	sameSession := t.leader.PID > 1 && (t.ours || alive(t.leader))
	procs := listProcesses()
	in := map[int]bool{}
	for pid, s := range procs {
		in[pid] = sameSession && s.session == t.leader.PID || marked(pid, t.mark)
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

func listProcesses() map[int]stat {
	out := map[int]stat{}
	names, err := os.ReadDir("/proc")
	if err != nil {
		return out
	}
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil || pid <= 1 {
			continue
		}
		if s, err := readStat(pid); err == nil && s.state != 'Z' && s.state != 'X' {
			out[pid] = s
		}
	}
	return out
}

// marked reports whether a process has the shard's mark in its environment.
func marked(pid int, mark string) bool { return mark != "" && markOf(pid) == mark }

// markOf is the mark in a process's environment. Empty: it has none, or belongs
// to somebody else.
func markOf(pid int) string {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return ""
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if m, ok := bytes.CutPrefix(v, []byte(markVariable+"=")); ok {
			return string(m)
		}
	}
	return ""
}

// killStrays kills processes that an agent with this data folder started and
// has no record of. It is called before anything is started.
func killStrays(prefix string, known map[string]bool) (killed int) {
	marks := map[string]bool{}
	for pid := range listProcesses() {
		if m := markOf(pid); strings.HasPrefix(m, prefix) && !known[m] {
			marks[m] = true
		}
	}
	for m := range marks {
		if killTree(tree{mark: m}) == nil {
			killed++
		}
	}
	return killed
}

// processMemory is the resident memory of a process's whole tree and the
// processor time it has used, for what is reported of a shard.
func processMemory(t tree) (bytes int64, ticks uint64) {
	page := int64(os.Getpagesize())
	for _, pid := range t.members() {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
		if err != nil {
			continue
		}
		if f := strings.Fields(string(b)); len(f) > 1 {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			bytes += n * page
		}
		ticks += cpuTicks(pid)
	}
	return bytes, ticks
}

func cpuTicks(pid int) uint64 {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseUint(f[11], 10, 64)
	system, _ := strconv.ParseUint(f[12], 10, 64)
	return user + system
}
