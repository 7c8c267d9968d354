package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

// Start starts a process in a session of its own, and in its cgroup when there
// is one, from its first instruction on.
func Start(l Launch) (*Process, error) {
	cmd := exec.Command(l.Path, l.Args...)
	cmd.Env = append(append([]string{}, l.Env...), markVariable+"="+l.Mark)
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.Dir, l.Output, l.Output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if l.Cgroup != "" {
		d, err := os.Open(l.Cgroup)
		if err != nil {
			return nil, fmt.Errorf("the shard's cgroup: %w", err)
		}
		defer d.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(d.Fd())
	}
	killed := oomKills(l.Cgroup)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// The agent may be kept from the kernel's choice; its engines must not be.
	_ = os.WriteFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "oom_score_adj"), []byte("0"), 0o644)
	p := &Process{tree: Tree{Leader: identify(cmd.Process.Pid), Mark: l.Mark, Cgroup: l.Cgroup}, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		p.exit = exitOf(cmd.ProcessState)
		p.exit.OOMKilled = p.exit.Signal == int(syscall.SIGKILL) && oomKills(l.Cgroup) > killed
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

// Adopt takes over a process that an earlier agent started, and looks every so
// often whether it still runs. False: it runs no more.
func Adopt(t Tree, look time.Duration) (*Process, bool) {
	if !alive(t.Leader) {
		return nil, false
	}
	p := &Process{tree: t, adopted: true, done: make(chan struct{})}
	killed := oomKills(t.Cgroup)
	go func() {
		every := time.NewTicker(look)
		defer every.Stop()
		for alive(t.Leader) {
			<-every.C
		}
		p.exit = protocol.Exit{Code: -1, OOMKilled: t.Cgroup != "" && oomKills(t.Cgroup) > killed}
		close(p.done)
	}()
	return p, true
}

// ask asks the whole process group, whose leader the process is, to end.
func (p *Process) ask() {
	if p.Ended() || p.adopted && !alive(p.tree.Leader) {
		return
	}
	_ = syscall.Kill(-p.tree.Leader.PID, syscall.SIGTERM)
}
