package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rights are the capabilities without which an agent cannot give engines users of
// their own, and look after them all the same.
var rights = []struct {
	bit  uint
	name string
}{
	{unix.CAP_CHOWN, "CAP_CHOWN"},
	{unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
	{unix.CAP_FOWNER, "CAP_FOWNER"},
	{unix.CAP_KILL, "CAP_KILL"},
	{unix.CAP_SETGID, "CAP_SETGID"},
	{unix.CAP_SETUID, "CAP_SETUID"},
	{unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
}

// CanSwitch reports whether processes can be started as users from one number to
// another. The error says what is missing.
func CanSwitch(from, to int) error {
	if os.Geteuid() != 0 {
		return errors.New("the agent does not run as root")
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("the agent's rights cannot be read: %w", err)
	}
	uids, _ := os.ReadFile("/proc/self/uid_map")
	gids, _ := os.ReadFile("/proc/self/gid_map")
	return canSwitch(string(status), string(uids), string(gids), from, to)
}

func canSwitch(status, uids, gids string, from, to int) error {
	has, err := strconv.ParseUint(field(status, "CapEff:"), 16, 64)
	if err != nil {
		return fmt.Errorf("the agent's rights cannot be read: %w", err)
	}
	var missing []string
	for _, r := range rights {
		if has&(1<<r.bit) == 0 {
			missing = append(missing, r.name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the agent is root without %s", strings.Join(missing, ", "))
	}
	if !mapped(uids, from, to) || !mapped(gids, from, to) {
		return fmt.Errorf("the agent's user namespace has no users %d to %d", from, to)
	}
	return nil
}

// mapped reports whether a map of a user namespace has all of a range.
func mapped(text string, from, to int) bool {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		first, err1 := strconv.Atoi(f[0])
		count, err2 := strconv.Atoi(f[2])
		if err1 == nil && err2 == nil && first <= from && to < first+count {
			return true
		}
	}
	return false
}

// field is the first word after a key at the beginning of a line.
func field(text, key string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				return f[0]
			}
		}
	}
	return ""
}

// DeviceGroups are the groups an engine must be in to reach the machine's GPUs
// and adapters. None: everybody does, or there are none.
func DeviceGroups() []int {
	return deviceGroups(os.DirFS("/"), func(info fs.FileInfo) (int, bool) {
		s, ok := info.Sys().(*syscall.Stat_t)
		if !ok || info.Mode()&fs.ModeCharDevice == 0 {
			return 0, false
		}
		return int(s.Gid), true
	})
}

// UserBusy reports whether a process of a user runs.
func UserBusy(uid int) bool {
	for pid := range listProcesses() {
		if uidOf(pid) == uid {
			return true
		}
	}
	return false
}

// uidOf is the user whose process it is. -1: it has none, being gone.
func uidOf(pid int) int {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return -1
	}
	uid, err := strconv.Atoi(field(string(status), "Uid:"))
	if err != nil {
		return -1
	}
	return uid
}

// Reaches asks the kernel whether a user may do something with a file, as that
// user. The error is a *ClosedError.
func Reaches(u User, path string, needs Needs) error {
	if !u.Own() {
		return nil
	}
	return onThread(func() error {
		if err := look(u); err != nil {
			return err
		}
		// Links lead elsewhere: what is closed is on the way that is really taken.
		for _, p := range append(parents(path), path) {
			need := NeedPass
			if p == path {
				need = needs
			}
			if err := unix.Faccessat(unix.AT_FDCWD, p, uint32(need), unix.AT_EACCESS); err != nil {
				return &ClosedError{Path: path, At: p, Err: err}
			}
		}
		return nil
	})
}

// parents are the folders above a path, the highest first.
func parents(path string) []string {
	var out []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		out = append([]string{dir}, out...)
		if dir == filepath.Dir(dir) {
			return out
		}
	}
}

// look makes this thread see files as a user does, and be root otherwise.
func look(u User) error {
	if err := setGroups(u); err != nil {
		return err
	}
	if err := unix.Setfsgid(u.GID); err != nil {
		return err
	}
	return unix.Setfsuid(u.UID)
}

// become makes this thread a user's, for good.
func become(u User) error {
	if err := setGroups(u); err != nil {
		return err
	}
	for _, set := range []struct{ call, id uintptr }{{unix.SYS_SETRESGID, uintptr(u.GID)}, {unix.SYS_SETRESUID, uintptr(u.UID)}} {
		if _, _, e := unix.RawSyscall(set.call, set.id, set.id, set.id); e != 0 {
			return fmt.Errorf("process: the user cannot be set: %w", e)
		}
	}
	return nil
}

// setGroups sets this thread's groups; the library would set those of all.
func setGroups(u User) error {
	groups := []uint32{uint32(u.GID)}
	for _, g := range u.Groups {
		groups = append(groups, uint32(g))
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); e != 0 {
		return fmt.Errorf("process: groups cannot be set: %w", e)
	}
	return nil
}

// onThread runs f on a thread that ends with it: what f makes of its thread, and
// processes that it starts inherit, is nobody else's. It is never the first thread,
// which does not end, and whose rights are shown as the process's.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			defer runtime.UnlockOSThread()
			done <- onThread(f) // on another, while this one is held here
			return
		}
		done <- f() // and never unlocked
	}()
	return <-done
}

// SweepFiles removes what a user left in the machine's folders for everybody:
// segments of shared memory that nobody frees after a kill, and the next user of
// the number should not find.
func SweepFiles(u User) {
	if !u.Own() {
		return
	}
	for _, dir := range []string{"/dev/shm", "/tmp", "/var/tmp"} {
		sweepFiles(dir, u.UID)
	}
}

func sweepFiles(dir string, uid int) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) == uid {
			_ = root.RemoveAll(e.Name())
		}
	}
}
