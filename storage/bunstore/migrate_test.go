package bunstore

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// shape is every table and index as the database describes it, and the rows
// that are there from the start.
func shape(t *testing.T, s *Store) []string {
	t.Helper()
	var out []string
	if err := s.rw.NewRaw(`SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name`).Scan(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, seed := range []string{
		`SELECT id || name FROM orgs`, `SELECT id || org_id FROM teams`, `SELECT id || team_id FROM projects`,
		`SELECT name || value FROM counters ORDER BY name`, `SELECT seq || hash FROM audit_head`, `SELECT name || epoch FROM leases`,
	} {
		var rows []string
		if err := s.rw.NewRaw(seed).Scan(t.Context(), &rows); err != nil && !strings.Contains(err.Error(), "no such table") {
			t.Fatal(err)
		}
		out = append(out, rows...)
	}
	return out
}

func TestMigrateUpDownUp(t *testing.T) {
	t.Parallel()
	s := openFresh(t)
	whole := shape(t, s)
	all, err := s.MigrationStatus(t.Context())
	if err != nil || len(all) < 9 {
		t.Fatalf("want at least nine migrations, got %d, %v", len(all), err)
	}
	// Down one at a time and up again from there: every step is taken back by
	// itself, and what it leaves is what was there before it.
	shapes := map[int][]string{len(all): whole}
	for to := len(all) - 1; to >= 0; to-- {
		if err := s.MigrateDown(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		shapes[to] = shape(t, s)
	}
	if diff := cmp.Diff(1, len(shapes[0])); diff != "" {
		t.Errorf("tables that are left at version 0: %q", shapes[0])
	}
	for from := range len(all) {
		if err := s.MigrateDown(t.Context(), from); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shapes[from], shape(t, s)); diff != "" {
			t.Errorf("schema %d (- first time, + again):\n%s", from, diff)
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, shape(t, s)); diff != "" {
			t.Errorf("schema up from %d (- want, + got):\n%s", from, diff)
		}
	}
}

func TestMigrateKeepsRows(t *testing.T) {
	t.Parallel()
	s := openFresh(t)
	by := inventory.Author{Principal: "token:ann"}
	if _, err := s.PutModel(t.Context(), catalog.Model{Name: "m"}, 0, by); err != nil {
		t.Fatal(err)
	}
	before, err := s.ListModels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The usage table comes after the models': taking it back harms none.
	if err := s.MigrateDown(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if err := s.AppendUsage(t.Context(), []storage.Request{{ID: "r"}}); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("want a store that is behind to say so, got %v", err)
	}
	for range 2 {
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	after, err := s.ListModels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("models (- before, + after):\n%s", diff)
	}
	if err := s.MigrateDown(t.Context(), 99); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("want no way down to a version that is none, got %v", err)
	}
}

func TestMigrationStatus(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "llmgw.db")
	s, err := Open(t.Context(), Config{DSN: path, KeepSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	applied := func() (n int) {
		all, err := s.MigrationStatus(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range all {
			if m.Version != i+1 || m.Name == "" {
				t.Errorf("want migration %d with a name, got %+v", i+1, m)
			}
			if !m.AppliedAt.IsZero() {
				n++
			}
		}
		return n
	}
	if n := applied(); n != 0 {
		t.Errorf("want the schema left alone, got %d steps applied", n)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.MigrateDown(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if n := applied(); n != 3 {
		t.Errorf("want three steps applied, got %d", n)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "llmgw.db")
	s := openAt(t, path)
	run(t, s, `INSERT INTO schema_migrations (version, name, applied_at) VALUES (1000, 'future', 1)`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, keep := range []bool{false, true} {
		_, err := Open(t.Context(), Config{DSN: path, KeepSchema: keep})
		if !errors.Is(err, storage.ErrNewer) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "migrate down") {
			t.Errorf("want the newer store refused with what to do, got %v", err)
		}
	}
}

// TestFailedMigrationLeavesNothing runs a step that fails half way.
func TestFailedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	s := openFresh(t)
	before := shape(t, s)
	m := Migration{Version: 500, Name: "broken"}
	if err := s.step(t.Context(), m, `CREATE TABLE half (id TEXT); CREATE TABLE orgs (id TEXT);`, mark); err == nil {
		t.Error("want the step to fail, got none")
	}
	if diff := cmp.Diff(before, shape(t, s)); diff != "" {
		t.Errorf("schema (- before, + after):\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Migrate(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("want the context's error, got %v", err)
	}
}

func TestMigrationFiles(t *testing.T) {
	t.Parallel()
	file := func(names ...string) fstest.MapFS {
		fs := fstest.MapFS{}
		for _, n := range names {
			fs["m/"+n] = &fstest.MapFile{Data: []byte("SELECT 1;")}
		}
		return fs
	}
	for name, fs := range map[string]fstest.MapFS{
		"gap":       file("0001_a.up.sql", "0001_a.down.sql", "0003_c.up.sql", "0003_c.down.sql"),
		"no way":    file("0001_a.up.sql"),
		"no number": file("a.up.sql", "a.down.sql"),
		"twice":     file("0001_a.up.sql", "0001_a.down.sql", "0001_b.up.sql", "0001_b.down.sql"),
	} {
		if _, err := loadMigrations(fs, "m"); err == nil {
			t.Errorf("%s: want the folder refused, got none", name)
		}
	}
}
