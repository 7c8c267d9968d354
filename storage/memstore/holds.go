package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// ListHolds returns every hold, ordered by its domain's text.
func (s *Store) ListHolds(ctx context.Context) ([]inventory.Hold, error) {
	out := []inventory.Hold{}
	err := s.do(ctx, func() error {
		out = slices.AppendSeq(out, maps.Values(s.holds))
		return nil
	})
	slices.SortFunc(out, func(a, b inventory.Hold) int { return cmp.Compare(a.Domain.String(), b.Domain.String()) })
	return out, err
}

// PutHold keeps a hold in place of the one its domain had.
func (s *Store) PutHold(ctx context.Context, h inventory.Hold, by inventory.Author) error {
	return s.change(ctx, by, func(time.Time) (plan, error) {
		if err := storage.CheckHold(&h); err != nil {
			return plan{}, err
		}
		h.Since, h.From, h.Until = utc(h.Since), utc(h.From), utc(h.Until)
		var before *inventory.Hold
		if old, has := s.holds[h.Domain]; has {
			before = &old
		}
		return plan{storage.ActPutHold(before, &h), func() { s.holds[h.Domain] = h }}, nil
	})
}

// DeleteHold drops the hold of a domain.
func (s *Store) DeleteHold(ctx context.Context, d inventory.Domain, by inventory.Author) error {
	return s.change(ctx, by, func(time.Time) (plan, error) {
		old, has := s.holds[d]
		if !has {
			return plan{}, nil
		}
		return plan{storage.ActDeleteHold(&old), func() { delete(s.holds, d) }}, nil
	})
}
