package upgrade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/internal/textbusy"
	"llmgw.io/llmgw/inventory"
)

// verdict is how guarding ended.
type verdict int

const (
	over     verdict = iota // the process is to end
	again                   // something else is written down now
	wentBack                // this program is the agent again
)

const (
	// retryAfter is between two starts of a version on trial.
	retryAfter = time.Second
	// lockWait is how long a guard that is just ending is waited for.
	lockWait = 30 * time.Second
)

// guard runs the version on trial as a child, until it is the one that is to run
// for good and ends, or this program is again.
func (l *Launcher) guard(ctx context.Context, dir string, me place) (verdict, error) {
	unlock, err := guardLock(ctx, dir)
	if err != nil {
		return over, err
	}
	defer unlock()
	for ctx.Err() == nil {
		s, err := readState(dir)
		if what, _ := decide(s, me); err != nil || what != beGuard {
			return again, nil // whoever looks next says what is wrong with it
		}
		now := time.Now()
		switch {
		case s.Attempts >= max(1, s.Most):
			return l.goBack(dir, s, fmt.Sprintf("%s was started %d times and ended each time before the control plane had answered it; last: %s", s.To, s.Attempts, s.Error))
		case s.Attempts > 0 && s.left(now) <= 0:
			return l.goBack(dir, s, late(s))
		case s.Attempts == 0:
			s.Deadline = now.Add(s.Within) // the agent before took its time to end
		}
		s.Attempts++
		if err := errors.Join(s.write(dir), link(dir, s.To)); err != nil {
			return l.goBack(dir, s, fmt.Sprintf("%s could not be started, since the agent cannot write to %s: %v", s.To, dir, err))
		}
		if v, err, end := l.try(ctx, dir, s); end {
			return v, err
		}
		pause(ctx, retryAfter)
	}
	return over, nil
}

// try is one run of the version on trial. End is false when it is to be tried
// again.
func (l *Launcher) try(ctx context.Context, dir string, s *state) (v verdict, err error, end bool) {
	c, err := spawn(s.program(dir, s.To), l.Log)
	if err != nil {
		s.Error = err.Error()
		return over, s.write(dir), false
	}
	late := time.NewTimer(s.left(time.Now()))
	defer late.Stop()
	for {
		select {
		case <-c.done:
			return l.childEnded(dir, s, c)
		case <-ctx.Done():
			_ = c.cmd.Process.Signal(syscall.SIGTERM)
			<-c.done
			return over, c.err, true
		case <-late.C:
			if done(dir, s) {
				continue // there is no other deadline
			}
			_ = c.cmd.Process.Kill()
			<-c.done
			if done(dir, s) { // just before it was killed
				return again, nil, true
			}
			v, err := l.goBack(dir, s, tooLate(s))
			return v, err, true
		}
	}
}

// childEnded says what the end of the version that was guarded means.
func (l *Launcher) childEnded(dir string, s *state, c *child) (verdict, error, bool) {
	now, err := readState(dir)
	switch {
	case err != nil || now == nil || now.To != s.To || now.Phase == inventory.UpgradeTrial && now.Attempts != s.Attempts:
		return again, nil, true //nolint:nilerr // whoever looks next says what is wrong with it
	case now.Phase == inventory.UpgradeTrial:
		s.Error = c.words()
		l.note("version %s ended on trial: %s", s.To, s.Error)
		return over, s.write(dir), false
	}
	return over, c.err, true // it is no more on trial: it ended as an agent does
}

func done(dir string, s *state) bool {
	now, err := readState(dir)
	return err == nil && now != nil && now.To == s.To && now.Phase == inventory.UpgradeDone
}

func late(s *state) string { return tooLate(s) + lastWords(s) }

func tooLate(s *state) string {
	return fmt.Sprintf("%s was not answered by the control plane within %s", s.To, s.Within)
}

func lastWords(s *state) string {
	if s.Error == "" {
		return ""
	}
	return "; it had ended before: " + s.Error
}

// goBack makes this program the agent again. Nothing that fails keeps it from that.
func (l *Launcher) goBack(dir string, s *state, why string) (verdict, error) {
	s.fail(why, time.Now())
	if err := errors.Join(s.write(dir), link(dir, s.Back)); err != nil {
		l.note("that the upgrade failed cannot be written down: %v", err)
	}
	l.note("%s; %s runs again", why, s.From)
	return wentBack, nil
}

// guardLock keeps a second guard away. It dies with its holder.
func guardLock(ctx context.Context, dir string) (func(), error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("guard an upgrade: %w", err)
	}
	for end := time.Now().Add(lockWait); ; {
		held, err := durable.TryLock(f)
		if held {
			return func() { _ = f.Close() }, nil
		}
		if err != nil || time.Now().After(end) || ctx.Err() != nil {
			_ = f.Close()
			return nil, errors.Join(fmt.Errorf("another agent works with %s; stop it, or give this one another data folder", filepath.Dir(dir)), err)
		}
		pause(ctx, 100*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// child is a version on trial.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of its end
	last tail
}

// spawn starts the child, which the kernel ends when this process ends.
func spawn(program string, log io.Writer) (*child, error) {
	if log == nil {
		log = os.Stderr
	}
	c := &child{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel looks at the thread, which must be there for as long.
		runtime.LockOSThread()
		err := textbusy.Again(func() error {
			c.cmd = exec.Command(program, os.Args[1:]...)
			c.cmd.Env = append(environ(), guardVariable+"="+strconv.Itoa(os.Getpid()))
			c.cmd.Stdout, c.cmd.Stderr = os.Stdout, io.MultiWriter(log, &c.last)
			c.cmd.WaitDelay = time.Second // what it leaves behind may hold its output open
			c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			return c.cmd.Start()
		})
		started <- err
		if err == nil {
			if c.err = c.cmd.Wait(); errors.Is(c.err, exec.ErrWaitDelay) {
				c.err = nil
			}
			close(c.done)
		}
	}()
	return c, <-started
}

// words is how the child ended, and what it said last.
func (c *child) words() string {
	how := "it ended by itself"
	if c.err != nil {
		how = c.err.Error()
	}
	if said := c.last.text(); said != "" {
		return how + ": " + said
	}
	return how
}

// tail keeps the end of what is written to it, by one goroutine.
type tail struct{ b bytes.Buffer }

// keptWords is how much is kept, saidWords how much of a line is shown.
const (
	keptWords = 8 << 10
	saidWords = 400
)

// Write takes everything and keeps the last of it.
func (t *tail) Write(p []byte) (int, error) {
	t.b.Write(p)
	if over := t.b.Len() - keptWords; over > 0 {
		t.b.Next(over)
	}
	return len(p), nil
}

// text is the line that says why a program ended, or the last one.
func (t *tail) text() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(t.b.String(), "")), "\n")
	said := lines[len(lines)-1]
	for _, line := range lines {
		if strings.HasPrefix(line, programName+": ") || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			said = line
		}
	}
	if len(said) > saidWords {
		said = strings.ToValidUTF8(said[:saidWords], "") + "…"
	}
	return said
}
