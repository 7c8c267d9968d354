package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// identify reads what tells a process from another of the same number. A
// process that ended already has no start time, and is alive to nobody.
func identify(pid int) ID {
	id := ID{PID: pid, Boot: BootID()}
	if s, err := readStat(pid); err == nil {
		id.Start = s.start
	}
	return id
}

// alive reports whether exactly that process still runs. One that ended and
// waits for its parent does not.
func alive(id ID) bool {
	if id.PID <= 1 || id.Start == 0 || id.Boot != BootID() {
		return false
	}
	s, err := readStat(id.PID)
	return err == nil && s.start == id.Start && s.state != 'Z' && s.state != 'X'
}

// BootID names the boot of this machine.
func BootID() string {
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
	ticks   uint64 // of processor time, by the kernel too
	start   uint64
}

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

// parseStat reads one line. The name stands in brackets and may hold anything,
// brackets too.
func parseStat(b []byte) (stat, error) {
	i := bytes.LastIndexByte(b, ')')
	f := strings.Fields(string(b[i+1:]))
	if i < 0 || len(f) < 20 || len(f[0]) != 1 {
		return stat{}, errors.New("process: /proc/PID/stat has another form than expected")
	}
	s := stat{state: f[0][0]}
	s.parent, _ = strconv.Atoi(f[1])
	s.session, _ = strconv.Atoi(f[3])
	user, _ := strconv.ParseUint(f[11], 10, 64)
	system, _ := strconv.ParseUint(f[12], 10, 64)
	s.ticks = user + system
	var err error
	s.start, err = strconv.ParseUint(f[19], 10, 64)
	return s, err
}

// listProcesses are the processes that run.
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
