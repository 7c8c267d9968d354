package journalfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/storagetest"
)

func openAt(t *testing.T, cfg Config) *Journal {
	t.Helper()
	j, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.RunJournal(t, func(t *testing.T) storage.Journal { return openAt(t, Config{Dir: t.TempDir()}) })
}

// TestConformanceOfManyFiles begins a file at every base.
func TestConformanceOfManyFiles(t *testing.T) {
	t.Parallel()
	storagetest.RunJournal(t, func(t *testing.T) storage.Journal {
		return openAt(t, Config{Dir: filepath.Join(t.TempDir(), "made"), FileBytes: 1, SyncEvery: -1})
	})
}

func base(n int) storage.JournalEntry {
	return storage.JournalEntry{At: time.Unix(int64(n), 0), Epoch: 1, Kind: storage.JournalBase, Data: fmt.Append(nil, "base ", n)}
}

func change(n int) storage.JournalEntry {
	e := base(n)
	e.Kind, e.Data = storage.JournalChange, fmt.Append(nil, "change ", n)
	return e
}

func put(t *testing.T, j *Journal, es ...storage.JournalEntry) {
	t.Helper()
	for _, e := range es {
		if err := j.AppendJournal(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

// texts reads everything of a path: data, and "torn" for what was cut off.
func texts(t *testing.T, path string) (out []string) {
	t.Helper()
	last := int64(0)
	for e, err := range Read(t.Context(), path) {
		switch {
		case errors.Is(err, storage.ErrTorn):
			out = append(out, "torn")
		case err != nil:
			t.Fatal(err)
		case e.Seq <= last:
			t.Fatalf("number %d comes after %d", e.Seq, last)
		default:
			last = e.Seq
			out = append(out, string(e.Data))
		}
	}
	return out
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: want %q, got %q", what, want, got)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	names, err := files(dir)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestReopen goes on with the numbers where the last process ended, whether it
// closed its file or not.
func TestReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := openAt(t, Config{Dir: dir})
	put(t, first, base(1), change(2))
	first.abandon() // as a process that was killed
	second := openAt(t, Config{Dir: dir})
	if err := second.AppendJournal(t.Context(), change(3)); !errors.Is(err, storage.ErrNeedsBase) {
		t.Errorf("want a base asked for by a new process, got %v", err)
	}
	put(t, second, base(3))
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.AppendJournal(t.Context(), base(4)); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("want a closed journal to say so, got %v", err)
	}
	put(t, openAt(t, Config{Dir: dir}), base(4), change(5))
	want(t, "all", texts(t, dir), "base 1", "change 2", "base 3", "base 4", "change 5")
	want(t, "the second file alone", texts(t, filepath.Join(dir, list(t, dir)[1])), "base 3")
	info, err := os.Stat(filepath.Join(dir, list(t, dir)[0]))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("want a file that nobody else reads, got %v, %v", info.Mode(), err)
	}
}

// TestTorn cuts a file at every byte: what is read is always the first so many
// entries, whole, and a new process goes on behind them.
func TestTorn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := openAt(t, Config{Dir: dir})
	var ends []int // where the file ended after each entry
	for n := range 6 {
		if n == 0 {
			put(t, j, base(n))
		} else {
			put(t, j, change(n))
		}
		ends = append(ends, int(j.size))
	}
	whole, err := os.ReadFile(filepath.Join(dir, list(t, dir)[0]))
	if err != nil {
		t.Fatal(err)
	}
	all := texts(t, dir)
	for cut := range len(whole) + 1 {
		torn := filepath.Join(t.TempDir(), list(t, dir)[0])
		if err := os.WriteFile(torn, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		acked, _ := slices.BinarySearch(ends, cut+1) // entries that end at or before the cut
		got := texts(t, torn)
		told := len(got) > 0 && got[len(got)-1] == "torn"
		if told {
			got = got[:len(got)-1]
		}
		if len(got) < acked || !slices.Equal(got, all[:len(got)]) {
			t.Fatalf("cut at %d of %d: want at least the first %d entries, got %q", cut, len(whole), acked, got)
		}
		next := openAt(t, Config{Dir: filepath.Dir(torn)})
		put(t, next, base(9))
		if again := texts(t, filepath.Dir(torn)); again[len(again)-1] != "base 9" || len(again) < len(got)+1 {
			t.Fatalf("cut at %d: want the next process to go on, got %q", cut, again)
		}
	}
}

// TestDamage flips each byte in turn: an entry that is not as it was written is
// never read, and the next file is.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := openAt(t, Config{Dir: dir, FileBytes: 1})
	put(t, j, base(1), change(2), base(3))
	path := filepath.Join(dir, list(t, dir)[0])
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for at := range whole {
		bad := slices.Clone(whole)
		bad[at] ^= 0x10
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		got := texts(t, dir)
		if got[len(got)-1] != "base 3" {
			t.Fatalf("byte %d: want the next file read, got %q", at, got)
		}
		for _, s := range got[:len(got)-1] {
			if s == "torn" {
				told++
			} else if s != "base 1" && s != "change 2" {
				t.Fatalf("byte %d: read %q, which was never written", at, s)
			}
		}
	}
	if told == 0 {
		t.Error("no damage was told")
	}
}

// TestFailedWrite loses the entry that failed and no other, and asks for a base.
func TestFailedWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := openAt(t, Config{Dir: dir})
	put(t, j, base(1))
	j.file.Close()
	if err := j.AppendJournal(t.Context(), change(2)); !errors.Is(err, fs.ErrClosed) {
		t.Fatalf("want the file's error, got %v", err)
	}
	if err := j.AppendJournal(t.Context(), change(3)); !errors.Is(err, storage.ErrNeedsBase) {
		t.Errorf("want a base asked for, got %v", err)
	}
	put(t, j, base(4))
	want(t, "all", texts(t, dir), "base 1", "base 4")
}

// TestFiles begins a file at a base once the last one is large or a day old.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := openAt(t, Config{Dir: dir})
	put(t, j, base(1))
	j.cfg.FileBytes = j.size + 1
	put(t, j, base(2), change(3), change(4), change(5), change(6))
	if n := len(list(t, dir)); n != 1 {
		t.Fatalf("want one file before the next base, got %d", n)
	}
	put(t, j, base(7))
	j.began = j.began.Add(-fileLife)
	put(t, j, change(8), base(9))
	if n := len(list(t, dir)); n != 3 {
		t.Errorf("want three files, got %d", n)
	}
	want(t, "all", texts(t, dir), "base 1", "base 2", "change 3", "change 4", "change 5", "change 6", "base 7", "change 8", "base 9")
	if _, err := os.Stat(filepath.Join(dir, nameOf(1))); err != nil {
		t.Error(err)
	}
}

// TestRetain drops what is too old and then what is too much, oldest first, and
// leaves alone what is not its own.
func TestRetain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	foreign := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(foreign, []byte(strings.Repeat("x", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	j := openAt(t, Config{Dir: dir, FileBytes: 1})
	for n := range 6 {
		put(t, j, base(n))
	}
	names := list(t, dir)
	old := time.Now().Add(-15 * 24 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, names[1]), old, old); err != nil {
		t.Fatal(err)
	}
	openAt(t, Config{Dir: dir})
	want(t, "by age", texts(t, dir), "base 2", "base 3", "base 4", "base 5")
	info, err := os.Stat(filepath.Join(dir, names[3]))
	if err != nil {
		t.Fatal(err)
	}
	openAt(t, Config{Dir: dir, MaxBytes: info.Size() + 10})
	want(t, "by size", texts(t, dir), "base 4", "base 5")
	put(t, openAt(t, Config{Dir: dir, MaxBytes: 1}), base(6))
	want(t, "the newest stays", texts(t, dir), "base 6")
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

func TestReadSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, err := range Read(t.Context(), filepath.Join(t.TempDir(), "none")) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("want the missing folder named, got %v", err)
		}
	}
	if _, err := Open(Config{}); err == nil || !strings.Contains(err.Error(), "Config.Dir") {
		t.Errorf("want the missing folder named, got %v", err)
	}
}
