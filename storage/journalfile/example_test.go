package journalfile_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/journalfile"
)

// A process appends entries, ends without a word, and another program reads them.
func ExampleRead() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	j, err := journalfile.Open(journalfile.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	at := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	for i, e := range []storage.JournalEntry{
		{Kind: storage.JournalBase, Data: []byte("everything")},
		{Kind: storage.JournalChange, Data: []byte("what changed")},
	} {
		e.At, e.Epoch = at.Add(time.Duration(i)*time.Second), 7
		if err := j.AppendJournal(ctx, e); err != nil {
			panic(err)
		}
	}
	for e, err := range journalfile.Read(ctx, dir) {
		fmt.Println(e.Seq, e.At.Format(time.TimeOnly), e.Epoch, e.Kind, string(e.Data), err)
	}
	// Output:
	// 1 08:00:00 7 base everything <nil>
	// 2 08:00:01 7 change what changed <nil>
}
