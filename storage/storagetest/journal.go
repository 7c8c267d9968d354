package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"llmgw.io/llmgw/storage"
)

// RunJournal tests a journal. open returns a fresh and empty one and may be
// called from many tests at once; what has to be closed is the caller's.
func RunJournal(t *testing.T, open func(t *testing.T) storage.Journal) {
	for _, area := range []struct {
		name string
		test func(t *testing.T, j storage.Journal)
	}{
		{"order", testJournalOrder},
		{"needs a base", testJournalBase},
		{"since", testJournalSince},
		{"refusals", testJournalRefusals},
		{"ownership", testJournalOwnership},
		{"concurrency", testJournalConcurrency},
		{"context", testJournalContext},
	} {
		t.Run(area.name, func(t *testing.T) {
			t.Parallel()
			area.test(t, open(t))
		})
	}
}

// entry is the n-th entry of a test, n minutes after the first.
func entry(n int, kind storage.JournalKind) storage.JournalEntry {
	return storage.JournalEntry{
		At: moment().Add(time.Duration(n) * time.Minute), Epoch: 3, Kind: kind, Data: fmt.Appendf(nil, "entry %d\x00\xff\n", n),
	}
}

func read(t *testing.T, j storage.Journal, since time.Time) []storage.JournalEntry {
	t.Helper()
	var out []storage.JournalEntry
	last := int64(0)
	for e, err := range j.ReadJournal(t.Context(), since) {
		ok(t, err)
		if e.Seq <= last || e.At.Location() != time.UTC {
			t.Errorf("want rising numbers and times in UTC, got %d after %d at %v", e.Seq, last, e.At)
		}
		last, e.Seq = e.Seq, 0
		out = append(out, e)
	}
	return out
}

func appendAll(t *testing.T, j storage.Journal, es ...storage.JournalEntry) []storage.JournalEntry {
	t.Helper()
	for i := range es {
		ok(t, j.AppendJournal(t.Context(), es[i]))
		es[i].At = es[i].At.UTC()
	}
	return es
}

func testJournalOrder(t *testing.T, j storage.Journal) {
	equal(t, "a fresh journal", nil, read(t, j, time.Time{}))
	empty := entry(2, storage.JournalChange)
	empty.Data = []byte{}
	big := entry(3, storage.JournalChange)
	big.Data = bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	es := appendAll(t, j, entry(0, storage.JournalBase), entry(1, storage.JournalChange), empty, big, entry(4, storage.JournalBase))
	equal(t, "what was appended", es, read(t, j, time.Time{}))
	equal(t, "the same, read again", es, read(t, j, time.Time{}))
	for e, err := range j.ReadJournal(t.Context(), time.Time{}) {
		ok(t, err)
		equal(t, "the first of them", string(es[0].Data), string(e.Data))
		break
	}
}

func testJournalBase(t *testing.T, j storage.Journal) {
	wantErr(t, storage.ErrNeedsBase, j.AppendJournal(t.Context(), entry(0, storage.JournalChange)))
	es := appendAll(t, j, entry(1, storage.JournalBase), entry(2, storage.JournalChange))
	equal(t, "what was appended", es, read(t, j, time.Time{}))
}

func testJournalSince(t *testing.T, j storage.Journal) {
	es := appendAll(t, j,
		entry(0, storage.JournalBase), entry(1, storage.JournalChange), entry(2, storage.JournalBase),
		entry(3, storage.JournalChange), entry(4, storage.JournalBase))
	for _, c := range []struct{ at, from int }{{-1, 0}, {0, 0}, {1, 0}, {2, 2}, {3, 2}, {4, 4}, {9, 4}} {
		got := read(t, j, entry(c.at, storage.JournalBase).At)
		equal(t, fmt.Sprintf("since minute %d", c.at), es[c.from:], got)
	}
}

func testJournalRefusals(t *testing.T, j storage.Journal) {
	kind, at := entry(0, "whole"), entry(0, storage.JournalBase)
	at.At = time.Time{}
	for _, e := range []storage.JournalEntry{kind, at} {
		wantErr(t, storage.ErrInvalid, j.AppendJournal(t.Context(), e))
	}
	equal(t, "a journal that refused", nil, read(t, j, time.Time{}))
}

func testJournalOwnership(t *testing.T, j storage.Journal) {
	e := entry(0, storage.JournalBase)
	want := string(e.Data)
	ok(t, j.AppendJournal(t.Context(), e))
	e.Data[0] = 'X'
	first := read(t, j, time.Time{})
	equal(t, "data that its giver changed", want, string(first[0].Data))
	first[0].Data[0] = 'Y'
	equal(t, "data that its reader changed", want, string(read(t, j, time.Time{})[0].Data))
}

func testJournalConcurrency(t *testing.T, j storage.Journal) {
	appendAll(t, j, entry(0, storage.JournalBase))
	const writers, each = 4, 20
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				e := entry(n, storage.JournalChange)
				e.Data = fmt.Appendf(nil, "%d %d", w, n)
				if err := j.AppendJournal(t.Context(), e); err != nil {
					t.Error(err)
				}
				for _, err := range j.ReadJournal(t.Context(), time.Time{}) {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	next := [writers]int{}
	for _, e := range read(t, j, time.Time{})[1:] {
		var w, n int
		if _, err := fmt.Sscan(string(e.Data), &w, &n); err != nil || n != next[w] {
			t.Fatalf("want each writer's entries in order, got %q where %d of its own were before", e.Data, next[w])
		}
		next[w]++
	}
	equal(t, "entries of each writer", [writers]int{each, each, each, each}, next)
}

func testJournalContext(t *testing.T, j storage.Journal) {
	es := appendAll(t, j, entry(0, storage.JournalBase))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, context.Canceled, j.AppendJournal(ctx, entry(1, storage.JournalChange)))
	for _, err := range j.ReadJournal(ctx, time.Time{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("want a read whose context ended to say so, got %v", err)
		}
	}
	equal(t, "what was appended before", es, read(t, j, time.Time{}))
}
