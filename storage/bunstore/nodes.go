package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

type nodeRow struct {
	bun.BaseModel `bun:"table:nodes"`

	ID       string `bun:"id,pk"`
	Data     string `bun:"data"`
	Revision int64  `bun:"revision"`
}

func newNodeRow(n inventory.NodeSettings, revision int64) (*nodeRow, error) {
	n.Revision = revision
	data, err := encode(n)
	return &nodeRow{ID: string(n.Node), Data: data, Revision: revision}, err
}

func (r *nodeRow) settings() (inventory.NodeSettings, error) {
	var n inventory.NodeSettings
	err := decode("settings of node "+r.ID, r.Data, &n)
	n.Node, n.Revision = inventory.NodeID(r.ID), r.Revision
	return n, err
}

// ListNodeSettings returns every known node, ordered by id.
func (s *Store) ListNodeSettings(ctx context.Context) ([]inventory.NodeSettings, error) {
	return list(ctx, s, inOrder("id"), (*nodeRow).settings)
}

// PutNodeSettings writes one row at an expected revision.
func (s *Store) PutNodeSettings(ctx context.Context, n inventory.NodeSettings, expected int64, by inventory.Author) (inventory.NodeSettings, error) {
	var out inventory.NodeSettings
	err := s.change(ctx, by, func(ctx context.Context, tx bun.Tx, _ time.Time) (storage.Act, error) {
		if err := storage.CheckNode(n.Node); err != nil {
			return storage.Act{}, err
		}
		before, err := nodeSettings(ctx, tx, n.Node)
		if err != nil {
			return storage.Act{}, err
		}
		revision, err := nextRevision(ctx, tx)
		if err != nil {
			return storage.Act{}, err
		}
		row, err := newNodeRow(n, revision)
		if err != nil {
			return storage.Act{}, err
		}
		if err := writeNode(ctx, tx, row, expected); err != nil {
			return storage.Act{}, err
		}
		out, err = row.settings()
		return storage.ActPutNode(before, &out), err
	})
	if err != nil {
		return inventory.NodeSettings{}, err
	}
	return out, nil
}

func writeNode(ctx context.Context, tx bun.Tx, row *nodeRow, expected int64) error {
	var done bool
	var err error
	if expected == 0 {
		done, err = changed(tx.NewInsert().Model(row).On("CONFLICT (id) DO NOTHING").Exec(ctx))
	} else {
		done, err = changed(tx.NewUpdate().Model(row).WherePK().Where("revision = ?", expected).Exec(ctx))
	}
	if err == nil && !done {
		err = fmt.Errorf("node %q is not at revision %d: %w", row.ID, expected, inventory.ErrStale)
	}
	return err
}

// nodeSettings reads a node's row. Nil: there is none.
func nodeSettings(ctx context.Context, tx bun.Tx, id inventory.NodeID) (*inventory.NodeSettings, error) {
	var row nodeRow
	err := tx.NewSelect().Model(&row).Where("id = ?", string(id)).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n, err := row.settings()
	return &n, err
}

// DeleteNode forgets a node and revokes its certificates.
func (s *Store) DeleteNode(ctx context.Context, id inventory.NodeID, by inventory.Author) error {
	return s.change(ctx, by, func(ctx context.Context, tx bun.Tx, now time.Time) (storage.Act, error) {
		if !isText(string(id)) {
			return storage.Act{}, nil
		}
		before, err := nodeSettings(ctx, tx, id)
		if err != nil {
			return storage.Act{}, err
		}
		if _, err := tx.NewDelete().Model((*nodeRow)(nil)).Where("id = ?", string(id)).Exec(ctx); err != nil {
			return storage.Act{}, err
		}
		trusted, err := changed(tx.NewUpdate().Model((*certificateRow)(nil)).Set("revoked_at = ?", nanos(now)).
			Where("node = ? AND revoked_at IS NULL", string(id)).Exec(ctx))
		if err != nil || (before == nil && !trusted) {
			return storage.Act{}, err
		}
		revoked := revocationRow{Node: string(id), At: nanos(now)}
		_, err = tx.NewInsert().Model(&revoked).On("CONFLICT (node) DO UPDATE").Set("at = EXCLUDED.at").Exec(ctx)
		return storage.ActDeleteNode(id, before, now), err
	})
}
