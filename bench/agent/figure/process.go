package figure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of processor time in /proc, on every Linux there is.
const clockTick = 10 * time.Millisecond

// Memory is what a process has in memory, in MiB.
type Memory struct {
	// RSS is all of it. PSS counts what it shares with others in parts.
	RSS, PSS float64
	// Own is the part of RSS that stands in no file.
	Own float64
}

// MemoryOf reads what a process has in memory.
func MemoryOf(pid int) (Memory, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return Memory{}, err
	}
	var m Memory
	for line := range strings.SplitSeq(string(b), "\n") {
		name, rest, _ := strings.Cut(line, ":")
		at := map[string]*float64{"Rss": &m.RSS, "Pss": &m.PSS, "Anonymous": &m.Own}[name]
		if at == nil {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 64)
		if err != nil {
			return m, fmt.Errorf("/proc/%d/smaps_rollup cannot be read: %w", pid, err)
		}
		*at = kib / 1024
	}
	if m.RSS == 0 {
		return m, errors.New("the process has ended")
	}
	return m, nil
}

// TimeOf is the processor time a process has used, for itself and in the kernel.
func TimeOf(pid int) (time.Duration, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick, err
}

// PeakOf is the most that a process ever had in memory, in MiB.
func PeakOf(pid int) (float64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(v, "kB")), 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("the process has ended")
}
