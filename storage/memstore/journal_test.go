package memstore

import (
	"testing"
	"time"

	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/storagetest"
)

func TestJournal(t *testing.T) {
	t.Parallel()
	storagetest.RunJournal(t, func(*testing.T) storage.Journal { return &Journal{} })
}

// TestJournalForgets keeps the last two bases with what follows each.
func TestJournalForgets(t *testing.T) {
	t.Parallel()
	j := &Journal{Bases: 2}
	for i, kind := range []storage.JournalKind{
		storage.JournalBase, storage.JournalChange, storage.JournalBase, storage.JournalChange, storage.JournalBase,
	} {
		e := storage.JournalEntry{At: time.Unix(int64(i), 0), Kind: kind, Data: []byte{byte(i)}}
		if err := j.AppendJournal(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	var got []byte
	for e, err := range j.ReadJournal(t.Context(), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Data...)
	}
	if string(got) != "\x02\x03\x04" {
		t.Errorf("want entries 2 to 4, got %v", got)
	}
}
