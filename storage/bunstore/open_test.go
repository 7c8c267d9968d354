package bunstore

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

func TestSecondOpenerIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "llmgw.db")
	s := openAt(t, path)
	_, err := Open(t.Context(), Config{DSN: "sqlite://" + filepath.ToSlash(path)})
	if !errors.Is(err, storage.ErrInUse) {
		t.Fatalf("want the second one refused, got %v", err)
	}
	for _, part := range []string{path, "process ", "stop it"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("want %q in the sentence, got %v", part, err)
		}
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("want the first one unharmed, got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
}

// A file has one lock, whatever path leads to it, and before it is there too.
func TestSecondOpenerByAnotherPath(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need rights of their own on windows")
	}
	dir := t.TempDir()
	folder, file := filepath.Join(dir, "folder"), filepath.Join(dir, "link.db")
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "real"), 0o700), os.Symlink("real", folder), os.Symlink(filepath.Join("folder", "llmgw.db"), file),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	openAt(t, file)
	for _, path := range []string{filepath.Join(folder, "llmgw.db"), filepath.Join(dir, "real", "llmgw.db"), file} {
		if _, err := Open(t.Context(), Config{DSN: path}); !errors.Is(err, storage.ErrInUse) {
			t.Errorf("%s: want the second one refused, got %v", path, err)
		}
	}
}

func TestWhatIsKeptIsThereAgain(t *testing.T) {
	t.Parallel()
	// A path with what has a meaning in URLs and in SQLite's own form of them.
	dir := filepath.Join(t.TempDir(), "a b%20c#d&e=ü")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "llmgw.db")
	s := openAt(t, path)
	if err := s.CreateKey(t.Context(), storage.Key{ID: "k", Hash: "h"}, inventory.Author{Principal: "token:ann"}); err != nil {
		t.Fatal(err)
	}
	first, err := s.Acquire(t.Context(), "control-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	if _, err := s.Key(t.Context(), "k"); err != nil {
		t.Error(err)
	}
	if err := s.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
	// The process that led is gone, as the file's lock shows: nobody waits for
	// the end of its lease, and its epoch is past.
	second, err := s.Acquire(t.Context(), "control-2")
	if err != nil || second.Epoch <= first.Epoch {
		t.Errorf("want the lease at once at a later epoch than %d, got %+v, %v", first.Epoch, second, err)
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("windows has no such modes")
	}
	path := filepath.Join(t.TempDir(), "llmgw.db")
	openAt(t, path)
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Error(err)
		} else if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("llmgw.db%s: want mode 600, got %o", suffix, mode)
		}
	}
}

func TestPlacesThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noDatabase := filepath.Join(dir, "text.db")
	if err := os.WriteFile(noDatabase, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for dsn, want := range map[string]string{
		"":                                     "no address",
		":memory:":                             "memstore",
		"sqlite://%zz":                         "not a URL",
		"mysql://db/llmgw":                     `"mysql" is not known`,
		filepath.Join(dir, "none", "llmgw.db"): "does not exist; make it",
		dir:                                    "",
		noDatabase:                             "damaged",
		"sqlite://" + filepath.ToSlash(dir) + "/none/x.db": "does not exist",
	} {
		s, err := Open(t.Context(), Config{DSN: dsn})
		if err == nil {
			s.Close()
			t.Errorf("%q: want it refused, got none", dsn)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q in the sentence, got %v", dsn, want, err)
		}
	}
	// What could not be opened holds no lock.
	if err := os.Remove(noDatabase); err != nil {
		t.Fatal(err)
	}
	openAt(t, noDatabase)
}

// TestPragmas asks the connections themselves: a misspelt one is passed over in
// silence.
func TestPragmas(t *testing.T) {
	t.Parallel()
	s := openFresh(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
		for name, db := range map[string]pragmas{"writer": {s, true}, "reader": {s, false}} {
			if got := db.get(t, pragma); got != want {
				t.Errorf("%s of the %s: want %s, got %s", pragma, name, want, got)
			}
		}
	}
	if got := (pragmas{s, false}).get(t, "query_only"); got != "1" {
		t.Errorf("want readers that cannot write, got query_only %s", got)
	}
}

type pragmas struct {
	store *Store
	write bool
}

func (p pragmas) get(t *testing.T, name string) string {
	t.Helper()
	db := p.store.ro
	if p.write {
		db = p.store.rw
	}
	var v string
	if err := db.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStoredJSONMayHoldMore(t *testing.T) {
	t.Parallel()
	s := openFresh(t)
	run(t, s, `INSERT INTO models (name, data, revision, updated_at, updated_by) VALUES ('m', '{"name":"m","owner":"o","from_a_later_version":{"x":[1]}}', 5, 1, 'x')`)
	list, err := s.ListModels(t.Context())
	if err != nil || len(list) != 1 || list[0].Model.Owner != "o" {
		t.Errorf("want what is known of the row, got %+v, %v", list, err)
	}
	run(t, s, `UPDATE models SET data = '{"name":'`)
	if _, err := s.ListModels(t.Context()); !errors.Is(err, storage.ErrCorrupt) || !strings.Contains(err.Error(), "model m") {
		t.Errorf("want the damaged row named, got %v", err)
	}
}
