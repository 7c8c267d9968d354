//go:build unix

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endLimit is how long a process may take to end: it stops its engines first.
const endLimit = 90 * time.Second

// process is one of ours, with its output in a file.
type process struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// start runs a program, and ends it with the test at the latest.
func start(t *testing.T, name, program string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, log: filepath.Join(t.TempDir(), name+".log"), done: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	// A group of its own, as a shell gives it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.end(syscall.SIGTERM)
		if i := strings.Index(p.output(), "WARNING: DATA RACE"); i >= 0 {
			t.Errorf("%s has a data race:\n%s", name, head(p.output()[i:], 60))
		}
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", name, tail(p.output(), 60))
		}
	})
	return p
}

// runProgram waits for a program that ends by itself, and answers what it said.
func runProgram(t *testing.T, env []string, program string, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatalf("run %s: %v", program, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signal %s: %v", p.name, err)
	}
}

// end signals the process and waits for its end.
func (p *process) end(s syscall.Signal) {
	p.t.Helper()
	if p.ended() {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.cmd.Process.Signal(s)
	select {
	case <-p.done:
	case <-time.After(endLimit):
		_ = p.cmd.Process.Kill()
		<-p.done
		p.t.Errorf("%s did not end within %s of %s; its log:\n%s", p.name, endLimit, s, tail(p.output(), 40))
	}
}

func (p *process) kill() { p.end(syscall.SIGKILL) }

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) output() string {
	b, _ := os.ReadFile(p.log)
	return string(b)
}

// head is the first lines of a text.
func head(s string, lines int) string {
	all := strings.Split(s, "\n")
	return strings.Join(all[:min(len(all), lines)], "\n")
}

// tail is the last lines of a text.
func tail(s string, lines int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// alive says whether a process is there and is no zombie.
func alive(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat"))
	if err != nil {
		return false
	}
	i := bytes.LastIndexByte(b, ')')
	return i > 0 && len(b) > i+2 && b[i+2] != 'Z'
}
