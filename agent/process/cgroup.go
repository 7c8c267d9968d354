package process

import (
	"os"
	"path/filepath"
)

// Cgroups is the cgroup v2 folder under which trees get groups of their own. The
// zero value gives none, and trees are found in other ways.
type Cgroups struct{ parent string }

// Make makes a group, or finds the one of that name, and gives its folder.
// Empty: there is none.
func (c Cgroups) Make(name string) string {
	if c.parent == "" {
		return ""
	}
	dir := filepath.Join(c.parent, "llmgw-"+name)
	if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		return ""
	}
	_ = os.WriteFile(filepath.Join(dir, "pids.max"), []byte("4096"), 0o644)
	return dir
}

// Prune removes groups that an earlier agent left empty. Those with processes
// stay: only empty ones can be removed.
func (c Cgroups) Prune() {
	if c.parent == "" {
		return
	}
	left, _ := filepath.Glob(filepath.Join(c.parent, "llmgw-*"))
	for _, dir := range left {
		_ = os.Remove(dir)
	}
}
