package inventorytest

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// ListHolds returns every hold, ordered by its domain's text.
func (s *Store) ListHolds(context.Context) ([]inventory.Hold, error) {
	if err := s.fails("ListHolds"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.holds), func(a, b inventory.Hold) int {
		return cmp.Compare(a.Domain.String(), b.Domain.String())
	}), nil
}

// PutHold keeps a hold in place of the one its domain had.
func (s *Store) PutHold(_ context.Context, h inventory.Hold, by inventory.Author) error {
	if err := s.fails("PutHold"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds == nil {
		s.holds = map[string]inventory.Hold{}
	}
	s.holds[h.Domain.String()] = h
	s.by = append(s.by, by)
	return nil
}

// DeleteHold drops the hold of a domain; harmless when there is none.
func (s *Store) DeleteHold(_ context.Context, d inventory.Domain, by inventory.Author) error {
	if err := s.fails("DeleteHold"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, has := s.holds[d.String()]; has {
		delete(s.holds, d.String())
		s.by = append(s.by, by)
	}
	return nil
}
