//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// running is a process of this machine.
type running struct {
	pid     int
	command string
	// cwd is where it works; an engine works in its shard's folder.
	cwd string
	// program is the file it runs.
	program string
}

// processes lists what runs and can be looked at. Zombies are left out.
func processes() []running {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []running
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		at := filepath.Join("/proc", e.Name())
		cwd, err := os.Readlink(filepath.Join(at, "cwd"))
		if err != nil {
			continue
		}
		program, _ := os.Readlink(filepath.Join(at, "exe"))
		line, _ := os.ReadFile(filepath.Join(at, "cmdline"))
		out = append(out, running{
			pid: pid, cwd: cwd, program: program,
			command: strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")),
		})
	}
	return out
}

// processesIn lists those that run a program in a folder, or work there.
func processesIn(dir string) []running {
	var out []running
	for _, p := range processes() {
		if strings.HasPrefix(p.cwd, dir) || strings.HasPrefix(p.program, dir) {
			out = append(out, p)
		}
	}
	return out
}

// enginesIn lists the engines of the agent whose data folder it is, by pid.
func enginesIn(dataDir string) map[int]string {
	out := map[int]string{}
	for _, p := range processes() {
		if strings.HasPrefix(p.cwd, dataDir+"/") {
			out[p.pid] = p.command
		}
	}
	return out
}

// filesNamed lists files below a folder whose names end so.
func filesNamed(t *testing.T, dir, suffix string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) {
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
