package process

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/textbusy"
)

// Start starts a process in a session of its own, and from its first instruction
// on in its group, as its user and without a way to more rights. Nothing of the
// agent's is open in it, and it leaves no core, which would hold keys and prompts.
func Start(l Launch) (*Process, error) {
	killed, own := oomKills(l.Group)
	var cmd *exec.Cmd
	start := func() error {
		cmd = command(l)
		return begin(cmd, l.Group)
	}
	if err := onThread(func() error { return textbusy.Again(start) }); err != nil {
		return nil, err
	}
	bound(cmd.Process.Pid, l)
	tree := Tree{Leader: identify(cmd.Process.Pid), Mark: l.Mark, Group: l.Group, UID: l.User.UID}
	p := &Process{tree: tree, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		p.exit = exitOf(cmd.ProcessState)
		p.exit.OOMKilled = killedForMemory(l.Group, killed, own, p.exit.Signal == int(syscall.SIGKILL))
		close(p.done)
	}()
	return p, nil
}

// command is a launch as a command that was not started yet.
func command(l Launch) *exec.Cmd {
	cmd := exec.Command(l.Path, l.Args...)
	cmd.Env = append(append([]string{}, l.Env...), markVariable+"="+l.Mark)
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.Dir, l.Output, l.Output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if l.User.Own() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(l.User.UID), Gid: uint32(l.User.GID)}
		for _, g := range l.User.Groups {
			cmd.SysProcAttr.Credential.Groups = append(cmd.SysProcAttr.Credential.Groups, uint32(g))
		}
	}
	return cmd
}

// begin starts a command from a thread of which it inherits what cannot be said
// of a command: that there are no new privileges, and groups of cgroup v1.
func begin(cmd *exec.Cmd, g Group) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	// Files that whoever started the agent left open in it are not the engine's.
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	for _, dir := range g {
		if _, err := os.Stat(filepath.Join(dir, "tasks")); err == nil {
			if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0o644); err != nil {
				return fmt.Errorf("the shard's cgroup: %w", err)
			}
			continue
		}
		d, err := os.Open(dir)
		if err != nil {
			return fmt.Errorf("the shard's cgroup: %w", err)
		}
		defer d.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(d.Fd())
	}
	return cmd.Start()
}

// bound sets what a process is bound by beside its group. It may have ended
// already, which its end tells.
func bound(pid int, l Launch) {
	// The agent may be kept from the kernel's choice; its engines must not be.
	_ = os.WriteFile(filepath.Join("/proc", strconv.Itoa(pid), "oom_score_adj"), []byte("0"), 0o644)
	if err := limit(pid, l); errors.Is(err, unix.EPERM) && l.User.Own() {
		// Not every container's root may bind another's process; the other may. The
		// engine could end a thread that is its user's, so this is not the first way.
		_ = onThread(func() error {
			if err := become(l.User); err != nil {
				return err
			}
			return limit(pid, l)
		})
	}
}

func limit(pid int, l Launch) error {
	if n := uint64(l.Processes); l.User.Own() && n > 0 {
		if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}, nil); err != nil {
			return err
		}
	}
	return unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
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
	killed, own := oomKills(t.Group)
	go func() {
		every := time.NewTicker(look)
		defer every.Stop()
		for alive(t.Leader) {
			<-every.C
		}
		p.exit = protocol.Exit{Code: -1, OOMKilled: killedForMemory(t.Group, killed, own, false)}
		close(p.done)
	}()
	return p, true
}

// ask asks the process, or the whole group that it leads, to end.
func (p *Process) ask(alone bool) {
	if p.Ended() || p.adopted && !alive(p.tree.Leader) {
		return
	}
	to := -p.tree.Leader.PID
	if alone {
		to = p.tree.Leader.PID
	}
	_ = syscall.Kill(to, syscall.SIGTERM)
}
