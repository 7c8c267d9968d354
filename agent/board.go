package agent

import (
	"cmp"
	"slices"
	"sync"

	"llmgw.io/llmgw/inventory"
)

// board holds what the agent says of its shards, and knows which of it the
// control plane has not heard yet.
type board struct {
	mu   sync.Mutex
	rows map[string]*row
	rev  uint64
	// changed has room for one: a state changed and should be sent at once.
	changed chan struct{}
}

type row struct {
	status inventory.ShardStatus
	rev    uint64 // of the last change
	told   uint64 // of the last change that was answered
}

func newBoard() *board {
	return &board{rows: map[string]*row{}, changed: make(chan struct{}, 1)}
}

// put takes a status. Progress within a state waits for the next beat; what is
// measured waits for the next one that carries a sample, and is no news.
func (b *board) put(st inventory.ShardStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.rows[st.ID]
	if r == nil {
		r = &row{}
		b.rows[st.ID] = r
	}
	urgent := r.status.State != st.State || r.status.Address != st.Address || r.status.Error != st.Error
	fetched := st.Fetch != nil && (r.status.Fetch == nil || *st.Fetch != *r.status.Fetch)
	if urgent || fetched || r.status.Starts != st.Starts {
		b.rev++
		r.rev = b.rev
	}
	r.status = st
	if urgent {
		notify(b.changed)
	}
}

func (b *board) drop(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.rows, id)
}

// news are the statuses that were not answered yet, and the list's revision, to
// pass to heard once it is.
func (b *board) news() ([]inventory.ShardStatus, uint64) {
	return b.list(func(r *row) bool { return r.rev > r.told })
}

// measured are the news and what was measured, for a beat that carries a
// sample. What failed long ago, with its long last lines, stays out.
func (b *board) measured() ([]inventory.ShardStatus, uint64) {
	return b.list(func(r *row) bool { return r.rev > r.told || r.status.Use != nil })
}

// all are all of them.
func (b *board) all() ([]inventory.ShardStatus, uint64) {
	return b.list(func(*row) bool { return true })
}

func (b *board) list(want func(*row) bool) ([]inventory.ShardStatus, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rev++ // so that of two lists the later one is known
	out := []inventory.ShardStatus{}
	for _, r := range b.rows {
		if want(r) {
			out = append(out, r.status)
		}
	}
	slices.SortFunc(out, func(x, y inventory.ShardStatus) int { return cmp.Compare(x.ID, y.ID) })
	return out, b.rev
}

// heard says that everything up to a revision was answered.
func (b *board) heard(rev uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rows {
		if r.rev <= rev {
			r.told = r.rev
		}
	}
}

// told reports whether the control plane knows the shard's present status.
func (b *board) told(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.rows[id]
	return r != nil && r.told == r.rev
}

// notify wakes whoever waits on a channel with room for one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
