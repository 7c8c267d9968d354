package discovery

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cgroups are the folders that limit the agent, for one controller of version 1
// and for version 2: its own and all above it, as far as they are visible. Every
// one of them is a limit.
func (p *Prober) cgroups(controller string) []string {
	text, err := read(p.proc("self/cgroup"))
	if err != nil {
		return nil
	}
	var dirs []string
	for line := range strings.SplitSeq(text, "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		names := strings.Split(parts[1], ",")
		switch {
		case parts[1] == "":
			// Beside version 1, version 2 is mounted in a folder of its own.
			dirs = append(dirs, upward(p.sys("fs/cgroup"), parts[2])...)
			dirs = append(dirs, upward(p.sys("fs/cgroup/unified"), parts[2])...)
		case slices.Contains(names, controller):
			for _, mount := range slices.Compact([]string{parts[1], controller}) {
				dirs = append(dirs, upward(p.sys("fs/cgroup/"+mount), parts[2])...)
			}
		}
	}
	return dirs
}

// upward lists root/path and what is above it down to the root. Inside a
// container the path may be the host's: what does not exist is left out.
func upward(root, path string) []string {
	var dirs []string
	for at := filepath.Clean("/" + path); ; at = filepath.Dir(at) {
		dir := filepath.Join(root, at)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
		if at == "/" || at == "." {
			return dirs
		}
	}
}
