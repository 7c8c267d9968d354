package process

import "errors"

// markVariable is in the environment of every process of a tree. Children
// inherit it, also those that leave the session or lose their parent.
const markVariable = "LLMGW_SHARD_MARK"

// errLeft says that processes of a tree outlive a kill.
var errLeft = errors.New("process: processes of the shard are left though they were killed")

// ID tells one process from another that later got the same number. The zero ID
// is no process.
type ID struct {
	// PID is its number.
	PID int `json:"pid,omitempty"`
	// Start is the kernel's start time in clock ticks since the boot.
	Start uint64 `json:"start,omitempty"`
	// Boot names the boot of the machine.
	Boot string `json:"boot,omitempty"`
}

// Tree is what must be remembered of a process to find it and all that it
// started again.
type Tree struct {
	// Leader is the process that was started. Zero: unknown, and the tree is
	// found by the rest.
	Leader ID
	// Mark is in the environment of each. Empty: unknown.
	Mark string
	// Group is its cgroup. Empty: none.
	Group Group
	// UID is the user that only this tree runs as. Zero: it has none.
	UID int
}

// Kill kills every process of a tree that nobody looks after any more, and
// returns when none is left.
func (t Tree) Kill() error { return t.kill(false) }
