package memstore

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"llmgw.io/llmgw/storage"
)

var _ storage.Journal = (*Journal)(nil)

// Journal keeps decisions in memory, the newest ones. The zero value is ready.
type Journal struct {
	// Bases is how many bases are kept, with the changes after each. Zero: all.
	// It may not change once the journal is used.
	Bases int

	mu      sync.Mutex
	seq     int64
	entries []storage.JournalEntry
}

// AppendJournal keeps an entry.
func (j *Journal) AppendJournal(ctx context.Context, e storage.JournalEntry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.Check(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries) == 0 && e.Kind != storage.JournalBase {
		return storage.ErrNeedsBase
	}
	j.seq++
	e.Seq, e.At, e.Data = j.seq, e.At.UTC(), bytes.Clone(e.Data)
	j.entries = append(j.entries, e)
	if e.Kind == storage.JournalBase {
		j.forget()
	}
	return nil
}

// forget drops what stands before the oldest base that is kept.
func (j *Journal) forget() {
	if j.Bases == 0 {
		return
	}
	bases := 0
	for i := len(j.entries) - 1; i >= 0; i-- {
		if j.entries[i].Kind != storage.JournalBase {
			continue
		}
		if bases++; bases == j.Bases {
			j.entries = slices.Clone(j.entries[i:])
			return
		}
	}
}

// ReadJournal walks what is kept at its beginning.
func (j *Journal) ReadJournal(ctx context.Context, since time.Time) iter.Seq2[storage.JournalEntry, error] {
	return func(yield func(storage.JournalEntry, error) bool) {
		j.mu.Lock()
		entries := j.entries[:len(j.entries):len(j.entries)]
		j.mu.Unlock()
		from := 0
		for i := range entries {
			if entries[i].Kind == storage.JournalBase && !entries[i].At.After(since) {
				from = i
			}
		}
		for _, e := range entries[from:] {
			if err := ctx.Err(); err != nil {
				yield(storage.JournalEntry{}, err)
				return
			}
			e.Data = bytes.Clone(e.Data)
			if !yield(e, nil) {
				return
			}
		}
	}
}
