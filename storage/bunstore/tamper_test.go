package bunstore

import (
	"errors"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/storagetest"
)

// run changes the database behind the store's back.
func run(t *testing.T, s *Store, query string, args ...any) {
	t.Helper()
	if _, err := s.rw.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

func TestTampering(t *testing.T) {
	t.Parallel()
	storagetest.RunTampering(t, func(t *testing.T) (storage.Store, storagetest.Tamper) {
		s := openFresh(t)
		row := func(seq int64) *auditRow {
			r := &auditRow{Seq: seq}
			if err := s.rw.NewSelect().Model(r).WherePK().Scan(t.Context()); err != nil {
				t.Fatal(err)
			}
			return r
		}
		write := func(r *auditRow) {
			if _, err := s.rw.NewUpdate().Model(r).WherePK().Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return s, storagetest.Tamper{
			Edit: func(_ *testing.T, seq int64, edit func(*storage.AuditEvent)) {
				e := row(seq).event()
				edit(&e)
				write(newAuditRow(&e))
			},
			Drop: func(t *testing.T, seq int64) { run(t, s, `DELETE FROM audit WHERE seq = ?`, seq) },
			Swap: func(_ *testing.T, a, b int64) {
				x, y := row(a), row(b)
				x.Seq, y.Seq = b, a
				write(x)
				write(y)
			},
		}
	})
}

// TestNoAuditNoChange breaks the log's table: nothing may be written that
// cannot be noted.
func TestNoAuditNoChange(t *testing.T) {
	t.Parallel()
	s := openFresh(t)
	by := inventory.Author{Principal: "token:ann"}
	entry, err := s.PutModel(t.Context(), catalog.Model{Name: "kept"}, 0, by)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, `CREATE TRIGGER broken BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no more'); END`)
	for name, write := range map[string]func() error{
		"put":    func() error { _, err := s.PutModel(t.Context(), catalog.Model{Name: "new"}, 0, by); return err },
		"delete": func() error { return s.DeleteModel(t.Context(), "kept", entry.Revision, by) },
		"node": func() error {
			_, err := s.PutNodeSettings(t.Context(), inventory.NodeSettings{Node: "n"}, 0, by)
			return err
		},
		"key": func() error { return s.CreateKey(t.Context(), storage.Key{ID: "k", Hash: "h"}, by) },
	} {
		if err := write(); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("%s: want the change refused, got %v", name, err)
		}
	}
	list, err := s.ListModels(t.Context())
	if err != nil || len(list) != 1 || list[0].Model.Name != "kept" {
		t.Errorf("want the model that was there and no other, got %v, %v", list, err)
	}
	if keys, err := s.ListKeys(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("want no key, got %v, %v", keys, err)
	}
	run(t, s, `DROP TRIGGER broken`)
	if err := s.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.DeleteModel(t.Context(), "kept", entry.Revision, by); err != nil {
		t.Errorf("want the store to go on, got %v", err)
	}
}
