package agent

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"llmgw.io/llmgw/internal/durable"
)

// usedBook remembers which files of weights shards have, and when a shard last
// had one, to the hour: what nobody used for long may go. It is kept on disk, so
// that shards which are adopted are known to use theirs.
type usedBook struct {
	mu     sync.Mutex
	loaded bool
	path   string
	st     usedState
}

type usedState struct {
	// At is by absolute path.
	At map[string]time.Time `json:"at"`
	// Shards are the files of each shard.
	Shards map[string][]string `json:"shards"`
}

// load is called with the lock held. A book that cannot be read is begun anew:
// what is in it is a help and no more.
func (b *usedBook) load(dir string) {
	if b.loaded {
		return
	}
	b.loaded, b.path = true, filepath.Join(dir, "used.json")
	if _, err := durable.ReadJSON(b.path, &b.st); err != nil {
		b.st = usedState{}
	}
	if b.st.At == nil {
		b.st.At = map[string]time.Time{}
	}
	if b.st.Shards == nil {
		b.st.Shards = map[string][]string{}
	}
}

// holds notes the files of a shard that is about to start.
func (b *usedBook) holds(dir, shard string, files []string, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load(dir)
	same := slices.Equal(b.st.Shards[shard], files)
	b.st.Shards[shard] = slices.Clone(files)
	if b.touch(files, now) || !same {
		return b.write()
	}
	return nil
}

// tick notes that shards which are there still use their files, and forgets
// those that are gone.
func (b *usedBook) tick(dir string, there func(shard string) bool, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load(dir)
	changed := false
	for _, shard := range slices.Sorted(maps.Keys(b.st.Shards)) {
		if !there(shard) {
			delete(b.st.Shards, shard)
			changed = true
			continue
		}
		changed = b.touch(b.st.Shards[shard], now) || changed
	}
	if !changed {
		return nil
	}
	maps.DeleteFunc(b.st.At, func(path string, _ time.Time) bool { _, err := os.Stat(path); return os.IsNotExist(err) })
	return b.write()
}

// touch reports whether the hour of a file has changed.
func (b *usedBook) touch(files []string, now time.Time) (changed bool) {
	hour := now.UTC().Truncate(time.Hour)
	for _, path := range files {
		if !b.st.At[path].Equal(hour) {
			b.st.At[path], changed = hour, true
		}
	}
	return changed
}

// last is when a file was last used. Zero: nobody has seen it in use.
func (b *usedBook) last(dir, path string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load(dir)
	return b.st.At[path]
}

// user is a shard that has a file below a folder. Empty: none.
func (b *usedBook) user(dir, folder string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load(dir)
	for shard, files := range b.st.Shards {
		for _, path := range files {
			if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
				return shard
			}
		}
	}
	return ""
}

// write is called with the lock held.
func (b *usedBook) write() error { return durable.WriteJSON(b.path, b.st) }
