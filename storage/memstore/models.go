package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

type modelRow struct {
	data     []byte
	revision int64
	at       time.Time
	by       string
}

func (r modelRow) entry() catalog.Entry {
	return catalog.Entry{Model: decode[catalog.Model](r.data), Revision: r.revision, UpdatedAt: r.at, UpdatedBy: r.by}
}

// ListModels returns every definition, ordered by name.
func (s *Store) ListModels(ctx context.Context) ([]catalog.Entry, error) {
	out := []catalog.Entry{}
	err := s.do(ctx, func() error {
		for _, name := range slices.Sorted(maps.Keys(s.models)) {
			out = append(out, s.models[name].entry())
		}
		return nil
	})
	return out, err
}

// PutModel writes a definition at an expected revision.
func (s *Store) PutModel(ctx context.Context, m catalog.Model, expected int64, by inventory.Author) (catalog.Entry, error) {
	var out catalog.Entry
	err := s.change(ctx, by, func(now time.Time) (plan, error) {
		if err := storage.CheckModel(m.Name); err != nil {
			return plan{}, err
		}
		old, ok := s.models[m.Name]
		if err := atRevision(m.Name, ok, old.revision, expected); err != nil {
			return plan{}, err
		}
		data, err := encode(m)
		if err != nil {
			return plan{}, err
		}
		var before *catalog.Model
		if ok {
			before = new(decode[catalog.Model](old.data))
		}
		return plan{storage.ActPutModel(before, &m), func() {
			row := modelRow{data: data, revision: s.bump(), at: now, by: by.Principal}
			s.models[m.Name] = row
			out = row.entry()
		}}, nil
	})
	return out, err
}

// DeleteModel removes a definition at an expected revision.
func (s *Store) DeleteModel(ctx context.Context, name catalog.Name, expected int64, by inventory.Author) error {
	return s.change(ctx, by, func(time.Time) (plan, error) {
		old, ok := s.models[name]
		if !ok {
			return plan{}, fmt.Errorf("model %q: %w", name, catalog.ErrNotFound)
		}
		if err := atRevision(name, ok, old.revision, expected); err != nil {
			return plan{}, err
		}
		return plan{storage.ActDeleteModel(new(decode[catalog.Model](old.data))), func() { delete(s.models, name) }}, nil
	})
}

func atRevision(name catalog.Name, exists bool, revision, expected int64) error {
	switch {
	case exists && expected == 0:
		return fmt.Errorf("model %q: %w", name, catalog.ErrExists)
	case revision != expected:
		return fmt.Errorf("model %q is at revision %d, not %d: %w", name, revision, expected, catalog.ErrStale)
	}
	return nil
}
