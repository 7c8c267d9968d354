package upgrade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"llmgw.io/llmgw/internal/textbusy"
)

// Supported says whether agents upgrade themselves on this system.
const Supported = true

// hopsVariable counts how often in a row this process became another program, so
// that two versions that disagree about which one is to run do not for ever.
const (
	hopsVariable = "LLMGW_AGENT_HOPS"
	maxHops      = 4
)

// Run is the agent that is to run, whichever version that is. It returns when that
// one has ended for good.
func (l *Launcher) Run(ctx context.Context) error {
	dir := Folder(l.Dir)
	go reap(inherited())
	hops, _ := strconv.Atoi(os.Getenv(hopsVariable))
	for ctx.Err() == nil {
		me, err := here(dir)
		if err != nil {
			return fmt.Errorf("find this program's own path: %w", err)
		}
		s, err := readState(dir)
		if err != nil {
			l.note("what is known of upgrades cannot be read, so this program runs: %v", err)
		}
		what, folder := decide(s, me)
		if what == become {
			if hops++; hops <= maxHops {
				err = l.exec(s.program(dir, folder), hops)
			} else {
				err = errors.New("two versions disagree about which one is to run")
			}
			l.note("version %s cannot be started, so this program runs: %v", folderName(folder), err)
		}
		if what == beGuard {
			v, err := l.guard(ctx, dir, me)
			switch v {
			case over:
				return err
			case again:
				hops = 0
				continue
			case wentBack: // this program is the one to go back to
			}
		}
		if err := l.beAgent(ctx, me); !errors.Is(err, ErrTaken) {
			return err
		}
	}
	return nil
}

func folderName(folder string) string {
	if folder == "" {
		return "that was installed"
	}
	return folder
}

// beAgent runs the agent. When another version takes over, the process is begun
// anew, with nothing of the agent's left in it; one that is guarded leaves that to
// its guard.
func (l *Launcher) beAgent(ctx context.Context, me place) error {
	err := l.Agent(ctx)
	if !errors.Is(err, ErrTaken) {
		return err
	}
	if me.guarded {
		return nil
	}
	if err := l.exec(me.path, 0); err != nil {
		l.note("this program cannot be begun anew: %v", err)
	}
	return ErrTaken // it goes on as the process it is
}

// exec makes this process a program. It returns when that cannot be.
func (l *Launcher) exec(program string, hops int) error {
	if info, err := os.Stat(program); err != nil {
		return err
	} else if !own(info) {
		return fmt.Errorf("%s can be changed by others than root and the agent's user; look who did that, and upgrade anew", program)
	}
	env := append(environ(), hopsVariable+"="+strconv.Itoa(hops))
	return textbusy.Again(func() error { return syscall.Exec(program, os.Args, env) })
}

// environ is the environment without what a guard and its likes add.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, guardVariable+"=") || strings.HasPrefix(v, hopsVariable+"=")
	})
}

// own reports whether nobody but root and this process's user can change a file.
func own(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Geteuid()) && info.Mode().Perm()&0o022 == 0
}

// inherited are the children of the program that this process was before: engines
// that it started, and whatever else outlived it. It is called before this program
// has any of its own.
func inherited() []int {
	var out []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it is gone
		}
		// The name stands in brackets and may hold anything; state and parent follow.
		if f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// reap takes note of the ends of children, so that nothing is left of them. Whoever
// adopts them sees that they ended by other ways.
func reap(children []int) {
	for len(children) > 0 {
		children = slices.DeleteFunc(children, func(pid int) bool {
			got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			return got == pid || errors.Is(err, syscall.ECHILD)
		})
		time.Sleep(reapEvery)
	}
}

const reapEvery = time.Second
