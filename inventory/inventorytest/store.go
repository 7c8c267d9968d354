package inventorytest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"llmgw.io/llmgw/inventory"
)

// Store is an inventory.Store and HoldStore in memory. The zero value is empty and ready. It
// may be used by any number of goroutines at once.
type Store struct {
	// Fail, when set, is asked before every call with the method's name; what
	// it returns is the call's error. Set it before the store is shared.
	Fail func(method string) error

	mu   sync.Mutex
	rows map[inventory.NodeID]inventory.NodeSettings
	// holds by their domain's text.
	holds map[string]inventory.Hold
	// By are the authors of the writes that were made, in order.
	by []inventory.Author
}

var (
	_ inventory.Store     = (*Store)(nil)
	_ inventory.HoldStore = (*Store)(nil)
)

// ListNodeSettings returns every row, ordered by node.
func (s *Store) ListNodeSettings(context.Context) ([]inventory.NodeSettings, error) {
	if err := s.fails("ListNodeSettings"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Collect(maps.Values(s.rows))
	slices.SortFunc(out, func(a, b inventory.NodeSettings) int { return cmp.Compare(a.Node, b.Node) })
	for i := range out {
		out[i] = clone(out[i])
	}
	return out, nil
}

// PutNodeSettings writes a row when its revision is the expected one.
func (s *Store) PutNodeSettings(_ context.Context, row inventory.NodeSettings, expected int64, by inventory.Author) (inventory.NodeSettings, error) {
	if err := s.fails("PutNodeSettings"); err != nil {
		return inventory.NodeSettings{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if has := s.rows[row.Node].Revision; has != expected {
		return inventory.NodeSettings{}, fmt.Errorf("put node %s at revision %d, it has %d: %w", row.Node, expected, has, inventory.ErrStale)
	}
	if s.rows == nil {
		s.rows = map[inventory.NodeID]inventory.NodeSettings{}
	}
	row = clone(row)
	row.Revision = expected + 1
	s.rows[row.Node] = row
	s.by = append(s.by, by)
	return clone(row), nil
}

// DeleteNode drops a row; harmless when there is none.
func (s *Store) DeleteNode(_ context.Context, id inventory.NodeID, by inventory.Author) error {
	if err := s.fails("DeleteNode"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, id)
	s.by = append(s.by, by)
	return nil
}

// Authors are those of the writes that were made, in order.
func (s *Store) Authors() []inventory.Author {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.by)
}

func (s *Store) fails(method string) error {
	if s.Fail == nil {
		return nil
	}
	return s.Fail(method)
}

func clone(row inventory.NodeSettings) inventory.NodeSettings {
	row.Labels, row.EngineBuilds = maps.Clone(row.Labels), maps.Clone(row.EngineBuilds)
	return row
}
