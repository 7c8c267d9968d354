package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

type modelRow struct {
	bun.BaseModel `bun:"table:models"`

	Name      string `bun:"name,pk"`
	Data      string `bun:"data"`
	Revision  int64  `bun:"revision"`
	UpdatedAt int64  `bun:"updated_at"`
	UpdatedBy string `bun:"updated_by"`
}

func (r *modelRow) entry() (catalog.Entry, error) {
	e := catalog.Entry{Revision: r.Revision, UpdatedAt: instant(r.UpdatedAt), UpdatedBy: r.UpdatedBy}
	return e, decode("definition of model "+r.Name, r.Data, &e.Model)
}

// ListModels returns every definition, ordered by name.
func (s *Store) ListModels(ctx context.Context) ([]catalog.Entry, error) {
	return list(ctx, s, inOrder("name"), (*modelRow).entry)
}

// PutModel writes a definition at an expected revision.
func (s *Store) PutModel(ctx context.Context, m catalog.Model, expected int64, by inventory.Author) (catalog.Entry, error) {
	var out catalog.Entry
	err := s.change(ctx, by, func(ctx context.Context, tx bun.Tx, now time.Time) (storage.Act, error) {
		if err := storage.CheckModel(m.Name); err != nil {
			return storage.Act{}, err
		}
		before, err := modelAt(ctx, tx, m.Name, expected)
		if err != nil {
			return storage.Act{}, err
		}
		data, err := encode(m)
		if err != nil {
			return storage.Act{}, err
		}
		row := modelRow{Name: string(m.Name), Data: data, UpdatedAt: nanos(now), UpdatedBy: storage.CleanText(by.Principal)}
		if row.Revision, err = nextRevision(ctx, tx); err != nil {
			return storage.Act{}, err
		}
		if err := writeModel(ctx, tx, &row, expected); err != nil {
			return storage.Act{}, err
		}
		out, err = row.entry()
		return storage.ActPutModel(before, &m), err
	})
	if err != nil {
		return catalog.Entry{}, err
	}
	return out, nil
}

func writeModel(ctx context.Context, tx bun.Tx, row *modelRow, expected int64) error {
	if expected == 0 {
		if done, err := changed(tx.NewInsert().Model(row).On("CONFLICT (name) DO NOTHING").Exec(ctx)); err != nil || done {
			return err
		}
		return fmt.Errorf("model %q: %w", row.Name, catalog.ErrExists)
	}
	if done, err := changed(tx.NewUpdate().Model(row).WherePK().Where("revision = ?", expected).Exec(ctx)); err != nil || done {
		return err
	}
	return fmt.Errorf("model %q is no more at revision %d: %w", row.Name, expected, catalog.ErrStale)
}

// DeleteModel removes a definition at an expected revision.
func (s *Store) DeleteModel(ctx context.Context, name catalog.Name, expected int64, by inventory.Author) error {
	return s.change(ctx, by, func(ctx context.Context, tx bun.Tx, _ time.Time) (storage.Act, error) {
		before, err := modelAt(ctx, tx, name, expected)
		if err != nil {
			return storage.Act{}, err
		}
		if before == nil {
			return storage.Act{}, fmt.Errorf("model %q: %w", name, catalog.ErrNotFound)
		}
		done, err := changed(tx.NewDelete().Model((*modelRow)(nil)).Where("name = ? AND revision = ?", string(name), expected).Exec(ctx))
		if err == nil && !done {
			err = fmt.Errorf("model %q is no more at revision %d: %w", name, expected, catalog.ErrStale)
		}
		return storage.ActDeleteModel(before), err
	})
}

// modelAt reads a definition for a change that expects a revision. Nil: there is
// none, and either none is expected or the caller has to say so.
func modelAt(ctx context.Context, tx bun.Tx, name catalog.Name, expected int64) (*catalog.Model, error) {
	if !isText(string(name)) {
		return nil, fmt.Errorf("model %q: %w", name, catalog.ErrNotFound)
	}
	var row modelRow
	err := tx.NewSelect().Model(&row).Where("name = ?", string(name)).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	case expected == 0:
		return nil, fmt.Errorf("model %q: %w", name, catalog.ErrExists)
	case row.Revision != expected:
		return nil, fmt.Errorf("model %q is at revision %d, not %d: %w", name, row.Revision, expected, catalog.ErrStale)
	}
	e, err := row.entry()
	if err != nil {
		return nil, err
	}
	return &e.Model, nil
}
