package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

type nodeRow struct {
	data     []byte
	revision int64
}

func (r nodeRow) settings() inventory.NodeSettings {
	out := decode[inventory.NodeSettings](r.data)
	out.Revision = r.revision
	return out
}

// ListNodeSettings returns every known node, ordered by id.
func (s *Store) ListNodeSettings(ctx context.Context) ([]inventory.NodeSettings, error) {
	out := []inventory.NodeSettings{}
	err := s.do(ctx, func() error {
		for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
			out = append(out, s.nodes[id].settings())
		}
		return nil
	})
	return out, err
}

// PutNodeSettings writes one row at an expected revision.
func (s *Store) PutNodeSettings(ctx context.Context, n inventory.NodeSettings, expected int64, by inventory.Author) (inventory.NodeSettings, error) {
	var out inventory.NodeSettings
	err := s.change(ctx, by, func(time.Time) (plan, error) {
		if err := storage.CheckNode(n.Node); err != nil {
			return plan{}, err
		}
		old, ok := s.nodes[n.Node]
		if old.revision != expected {
			return plan{}, fmt.Errorf("node %q is at revision %d, not %d: %w", n.Node, old.revision, expected, inventory.ErrStale)
		}
		n.Revision = s.revision + 1
		data, err := encode(n)
		if err != nil {
			return plan{}, err
		}
		var before *inventory.NodeSettings
		if ok {
			before = new(old.settings())
		}
		return plan{storage.ActPutNode(before, &n), func() {
			row := nodeRow{data: data, revision: s.bump()}
			s.nodes[n.Node] = row
			out = row.settings()
		}}, nil
	})
	return out, err
}

// DeleteNode forgets a node and revokes its certificates.
func (s *Store) DeleteNode(ctx context.Context, id inventory.NodeID, by inventory.Author) error {
	return s.change(ctx, by, func(now time.Time) (plan, error) {
		old, known := s.nodes[id]
		if !known && !s.trusted(id) {
			return plan{}, nil
		}
		var before *inventory.NodeSettings
		if known {
			before = new(old.settings())
		}
		return plan{storage.ActDeleteNode(id, before, now), func() {
			delete(s.nodes, id)
			s.revocations[id] = now
			for serial, c := range s.certificates {
				if c.cert.Node == id {
					c.revoked = true
					s.certificates[serial] = c
				}
			}
		}}, nil
	})
}

// trusted reports whether a certificate of the node has not been revoked.
func (s *Store) trusted(id inventory.NodeID) bool {
	for _, c := range s.certificates {
		if c.cert.Node == id && !c.revoked {
			return true
		}
	}
	return false
}
