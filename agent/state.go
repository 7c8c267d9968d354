package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/process"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/durable"
)

// stateFormat is of the state file. A file of another one is refused, so that
// an older agent never guesses at what a newer one wrote.
const stateFormat = 1

// state is what must outlive the agent: what was desired, and which processes
// are ours. It holds engine keys, so it is readable by its owner alone.
type state struct {
	Format  int               `json:"format"`
	Desired protocol.Desired  `json:"desired"`
	Shards  map[string]*entry `json:"shards"`
}

// entry is one shard as it was started.
type entry struct {
	// Shard is the definition it was started with; it does not change while
	// the engine runs.
	Shard protocol.DesiredShard `json:"shard"`
	Host  string                `json:"host,omitempty"`
	Port  int                   `json:"port,omitempty"`
	// Mark is in the environment of every process of the shard. It is kept
	// before the start, so that a process whose id was not kept is still found.
	Mark    string     `json:"mark,omitempty"`
	Process process.ID `json:"process,omitzero"`
	// Group is the cgroup it was started in.
	Group process.Group `json:"cgroups,omitempty"`
	// UID is the user that is the shard's alone, until it is forgotten. Zero: it
	// runs as the agent's.
	UID    int `json:"uid,omitempty"`
	Starts int `json:"starts,omitempty"`
	// Stop is how the process has to be stopped.
	Stop protocol.Stopping `json:"stop,omitzero"`
	// Gate is what stands before the engine. Zero: nothing.
	Gate gateEntry `json:"gate,omitzero"`
	// WasReady says that the engine was ready since it was started.
	WasReady bool `json:"was_ready,omitempty"`
	// Down says that the shard was stopped and waits to be forgotten.
	Down bool `json:"down,omitempty"`
}

// ledger keeps the state in memory and on disk, in this order: a change that
// cannot be kept is not made.
type ledger struct {
	mu   sync.Mutex
	path string
	st   state
}

// openLedger reads the state. A file that cannot be read is put aside, not
// deleted, and its text comes back as a warning: the agent starts empty, and
// finds its engines' processes by their marks alone.
func openLedger(dir string) (l *ledger, warning string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("agent: the data folder cannot be made: %w", err)
	}
	l = &ledger{path: filepath.Join(dir, "state.json")}
	found, err := durable.ReadJSON(l.path, &l.st)
	switch {
	case err != nil && !found:
		return nil, "", fmt.Errorf("agent: the state cannot be read: %w", err)
	case err != nil:
		aside := fmt.Sprintf("%s.unreadable-%d", l.path, time.Now().Unix())
		if err := os.Rename(l.path, aside); err != nil {
			return nil, "", fmt.Errorf("agent: the state cannot be put aside: %w", err)
		}
		warning = fmt.Sprintf("the state was unreadable and is now in %s; what ran before is stopped and started again", aside)
		l.st = state{}
	case found && l.st.Format != stateFormat:
		return nil, "", fmt.Errorf("agent: %s has format %d and this agent reads %d; run the version that wrote it", l.path, l.st.Format, stateFormat)
	}
	l.st.Format = stateFormat
	if l.st.Shards == nil {
		l.st.Shards = map[string]*entry{}
	}
	return l, warning, nil
}

// desired is what was last wanted of this node.
func (l *ledger) desired() protocol.Desired {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.st.Desired
}

// entry is a copy of one shard's. ok is false when there is none.
func (l *ledger) entry(id string) (entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.st.Shards[id]
	if !ok {
		return entry{}, false
	}
	return *e, true
}

// ids lists the shards there are entries of, in order.
func (l *ledger) ids() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.st.Shards))
}

// setDesired keeps what is wanted. It is taken even when the disk refuses it,
// since the control plane will say it again after a restart.
func (l *ledger) setDesired(d protocol.Desired) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.Asks = nil
	l.st.Desired = d
	return l.write()
}

// change edits a shard's entry, making it when there is none, and keeps it.
// After an error nothing has changed.
func (l *ledger) change(id string, edit func(e *entry) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.st.Shards[id]
	e := &entry{}
	if old != nil {
		*e = *old
	}
	if err := edit(e); err != nil {
		return err
	}
	l.st.Shards[id] = e
	err := l.write()
	if err != nil {
		if l.st.Shards[id] = old; old == nil {
			delete(l.st.Shards, id)
		}
	}
	return err
}

func (l *ledger) forget(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.st.Shards, id)
	return l.write()
}

// write is called with the lock held.
func (l *ledger) write() error {
	if err := durable.WriteJSON(l.path, l.st); err != nil {
		return errors.Join(errState, err)
	}
	return nil
}

// hashed is a name for a folder that nobody outside can choose.
func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}
