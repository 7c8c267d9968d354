package storage

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// Journal keeps why each decision was made: the decision with all that it rests
// on, as bytes that placement encodes. It is no part of [Store]: a control plane
// without one decides the same.
//
// Methods may be called at once from many goroutines.
type Journal interface {
	// AppendJournal keeps an entry behind those before it, and gives it its Seq.
	// Once it returns nil, the end of this process loses the entry no more; what
	// a loss of power may cost is said by each journal. It may block on a disk,
	// so a loop does not call it itself.
	//
	// Nothing of a failed entry is ever read. After an error, and first of all in
	// a new journal, comes a base: a change before one is refused with an error
	// that matches ErrNeedsBase.
	AppendJournal(ctx context.Context, e JournalEntry) error
	// ReadJournal walks the entries in order of Seq, from the newest base at or
	// before a time on; a zero time, or one before all bases, begins with the
	// oldest one. What is appended meanwhile may be seen or not. An entry that
	// was cut off by the end of its process is left out and told as an error that
	// matches ErrTorn; the walk goes on at the next base. Any other error ends it.
	// The data belongs to the caller.
	ReadJournal(ctx context.Context, since time.Time) iter.Seq2[JournalEntry, error]
}

// JournalEntry is one decision with what it rests on.
type JournalEntry struct {
	// Seq is given by the journal. It rises, and may leave numbers out.
	Seq int64
	// At is when it was decided, to the nanosecond.
	At time.Time
	// Epoch is the leader's that decided.
	Epoch int64
	Kind  JournalKind
	// Data is the encoding of whoever decided. It holds no secrets.
	Data []byte
}

// JournalKind says what an entry needs to be read.
type JournalKind string

// The kinds of entries.
const (
	// JournalBase is whole: reading may begin with it.
	JournalBase JournalKind = "base"
	// JournalChange is what differs from the entry before it.
	JournalChange JournalKind = "change"
)

// MaxJournalEntry is how many bytes of data one entry may have: a base of a
// hundred thousand nodes has less.
const MaxJournalEntry = 1 << 30

// Check says what makes the entry none that can be kept; the error matches
// ErrInvalid.
func (e *JournalEntry) Check() error {
	switch {
	case e.Kind != JournalBase && e.Kind != JournalChange:
		return fmt.Errorf("%w: the kind of a journal's entry is base or change, and not %q", ErrInvalid, e.Kind)
	case e.At.IsZero():
		return fmt.Errorf("%w: a journal's entry needs its time", ErrInvalid)
	case len(e.Data) > MaxJournalEntry:
		return fmt.Errorf("%w: a journal's entry has at most %d bytes, and this one %d", ErrInvalid, MaxJournalEntry, len(e.Data))
	}
	return nil
}
