package journalfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/storage"
)

// Read walks the entries of a folder, or of one file of it, oldest first, as
// ReadJournal does. It writes nothing, so the folder may be another process's, or
// a copy. A path that is not there is an error that matches fs.ErrNotExist.
func Read(ctx context.Context, path string) iter.Seq2[storage.JournalEntry, error] {
	return func(yield func(storage.JournalEntry, error) bool) {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			yield(storage.JournalEntry{}, fmt.Errorf("read the journal: %w", err))
		case info.IsDir():
			readFrom(ctx, path, time.Time{})(yield)
		default:
			walk(ctx, []string{path}, 0, yield)
		}
	}
}

// readFrom walks a folder from the newest base at or before a time on.
func readFrom(ctx context.Context, dir string, since time.Time) iter.Seq2[storage.JournalEntry, error] {
	return func(yield func(storage.JournalEntry, error) bool) {
		names, err := files(dir)
		if err != nil {
			yield(storage.JournalEntry{}, err)
			return
		}
		for i := range names {
			names[i] = filepath.Join(dir, names[i])
		}
		from := int64(0)
		if !since.IsZero() {
			names, from = startOf(names, since)
		}
		walk(ctx, names, from, yield)
	}
}

// startOf finds the files to read, and the number of the base to begin with.
func startOf(paths []string, since time.Time) (from []string, seq int64) {
	for i := len(paths) - 1; i >= 0; i-- {
		for e, err := range readFile(paths[i]) {
			if err == nil && e.Kind == storage.JournalBase && !e.At.After(since) {
				seq = e.Seq
			}
		}
		if seq > 0 {
			return paths[i:], seq
		}
	}
	return paths, 0
}

func walk(ctx context.Context, paths []string, from int64, yield func(storage.JournalEntry, error) bool) {
	for _, path := range paths {
		for e, err := range readFile(path) {
			if ctx.Err() != nil {
				yield(storage.JournalEntry{}, ctx.Err())
				return
			}
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue // dropped meanwhile, since it is too old
			case err == nil && e.Seq < from:
				continue
			case !yield(e, err), err != nil && !errors.Is(err, storage.ErrTorn):
				return
			}
		}
	}
}

// readFile walks one file, and ends at what is torn.
func readFile(path string) iter.Seq2[storage.JournalEntry, error] {
	return func(yield func(storage.JournalEntry, error) bool) {
		r, err := openFile(path)
		if err != nil {
			yield(storage.JournalEntry{}, err)
			return
		}
		defer r.close()
		for {
			e, err := r.next()
			switch {
			case errors.Is(err, errEnd):
				return
			case err != nil:
				yield(storage.JournalEntry{}, err)
				return
			case !yield(e, nil):
				return
			}
		}
	}
}

// files lists the names of a folder's files, oldest first.
func files(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("journalfile: look for files: %w", err)
	}
	var out []string
	for _, e := range entries {
		if firstOf(e.Name()) > 0 && !e.IsDir() {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out, nil
}

// nameOf is a name for the file that begins with an entry; names are in the order
// of their numbers.
func nameOf(seq int64) string { return fmt.Sprintf("%019d%s", seq, fileExt) }

// firstOf is the number in a name; zero when it is not one of ours.
func firstOf(name string) int64 {
	digits, ours := strings.CutSuffix(name, fileExt)
	seq, err := strconv.ParseInt(digits, 10, 64)
	if !ours || err != nil || nameOf(seq) != name {
		return 0
	}
	return seq
}
