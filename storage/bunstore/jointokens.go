package bunstore

import (
	"context"
	"crypto/subtle"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

type joinTokenRow struct {
	bun.BaseModel `bun:"table:join_tokens"`

	ID        string `bun:"id,pk"`
	Hash      string `bun:"hash"`
	CreatedBy string `bun:"created_by"`
	CreatedAt int64  `bun:"created_at"`
	ExpiresAt int64  `bun:"expires_at,nullzero"`
	UsedBy    string `bun:"used_by"`
	UsedAt    int64  `bun:"used_at,nullzero"`
	RevokedAt int64  `bun:"revoked_at,nullzero"`
}

func (r *joinTokenRow) token() inventory.JoinToken {
	return inventory.JoinToken{
		ID: r.ID, Hash: r.Hash, CreatedBy: r.CreatedBy, CreatedAt: instant(r.CreatedAt), ExpiresAt: instant(r.ExpiresAt),
		UsedBy: inventory.NodeID(r.UsedBy), UsedAt: instant(r.UsedAt),
	}
}

// CreateJoinToken keeps a new token.
func (s *Store) CreateJoinToken(ctx context.Context, t inventory.JoinToken, by inventory.Author) error {
	return s.change(ctx, by, func(ctx context.Context, tx bun.Tx, now time.Time) (storage.Act, error) {
		if err := storage.CheckJoinToken(t); err != nil {
			return storage.Act{}, err
		}
		if t.CreatedAt.IsZero() {
			t.CreatedAt = now
		}
		row := joinTokenRow{ID: t.ID, Hash: t.Hash, CreatedBy: t.CreatedBy, CreatedAt: nanos(t.CreatedAt), ExpiresAt: nanos(t.ExpiresAt)}
		kept, err := changed(tx.NewInsert().Model(&row).On("CONFLICT (id) DO NOTHING").Exec(ctx))
		if err == nil && !kept {
			err = fmt.Errorf("join token %q: %w", t.ID, storage.ErrExists)
		}
		return storage.ActCreateJoinToken(row.token()), err
	})
}

// ListJoinTokens returns every token that was not revoked, newest first.
func (s *Store) ListJoinTokens(ctx context.Context) ([]inventory.JoinToken, error) {
	unrevoked := func(q *bun.SelectQuery) *bun.SelectQuery {
		return inOrder("created_at DESC", "id")(q.Where("revoked_at IS NULL"))
	}
	return list(ctx, s, unrevoked, sure((*joinTokenRow).token))
}

// RevokeJoinToken takes a token back.
func (s *Store) RevokeJoinToken(ctx context.Context, id string, by inventory.Author) error {
	return s.change(ctx, by, func(ctx context.Context, tx bun.Tx, now time.Time) (storage.Act, error) {
		row, err := joinToken(ctx, tx, id)
		if err != nil {
			return storage.Act{}, err
		}
		done, err := changed(tx.NewUpdate().Model(row).WherePK().Set("revoked_at = ?", nanos(now)).Where("revoked_at IS NULL").Exec(ctx))
		if err != nil || !done {
			return storage.Act{}, err
		}
		return storage.ActRevokeJoinToken(row.token(), now), nil
	})
}

func joinToken(ctx context.Context, tx bun.Tx, id string) (*joinTokenRow, error) {
	row := joinTokenRow{ID: id}
	if isText(id) {
		found, err := noRow(tx.NewSelect().Model(&row).WherePK().Scan(ctx))
		if err != nil || found {
			return &row, err
		}
	}
	return nil, fmt.Errorf("join token %q: %w", id, storage.ErrNotFound)
}

// UseJoinToken marks a token as used and makes the node known. Of any number of
// attempts at once the one whose update finds the token unused is let in.
func (s *Store) UseJoinToken(ctx context.Context, use storage.TokenUse) error {
	return s.change(ctx, storage.JoinAuthor(use.ID), func(ctx context.Context, tx bun.Tx, now time.Time) (storage.Act, error) {
		if err := storage.CheckNode(use.Node); err != nil {
			return storage.Act{}, err
		}
		if !use.At.IsZero() {
			now = use.At.UTC().Round(0)
		}
		row, err := joinToken(ctx, tx, use.ID)
		if err != nil {
			return storage.Act{}, err
		}
		if row.RevokedAt != 0 || subtle.ConstantTimeCompare([]byte(row.Hash), []byte(use.Hash)) != 1 {
			return storage.Act{}, fmt.Errorf("join token %q: %w", use.ID, storage.ErrNotFound)
		}
		if err := storage.CheckTokenLife(row.token(), now); err != nil {
			return storage.Act{}, err
		}
		done, err := changed(tx.NewUpdate().Model(row).WherePK().Set("used_at = ?, used_by = ?", nanos(now), string(use.Node)).
			Where("used_at IS NULL AND revoked_at IS NULL").Exec(ctx))
		if err == nil && !done {
			err = fmt.Errorf("join token %q: %w", use.ID, storage.ErrUsed)
		}
		if err != nil {
			return storage.Act{}, err
		}
		if err := revokeBefore(ctx, tx, use.Node, now); err != nil {
			return storage.Act{}, err
		}
		return storage.ActUseJoinToken(row.token(), use.Node, now), knowNode(ctx, tx, use.Node)
	})
}

// revokeBefore revokes what a known node was given before a time. It never moves
// a revocation back.
func revokeBefore(ctx context.Context, tx bun.Tx, id inventory.NodeID, at time.Time) error {
	known, err := nodeSettings(ctx, tx, id)
	if err != nil || known == nil {
		return err
	}
	_, err = tx.NewUpdate().Model((*certificateRow)(nil)).Set("revoked_at = ?", nanos(at)).
		Where("node = ? AND revoked_at IS NULL AND issued_at < ?", string(id), nanos(at)).Exec(ctx)
	if err != nil {
		return err
	}
	row := revocationRow{Node: string(id), At: nanos(at)}
	_, err = tx.NewInsert().Model(&row).On("CONFLICT (node) DO UPDATE").Set("at = EXCLUDED.at").
		Where("revocation_row.at < EXCLUDED.at").Exec(ctx)
	return err
}

// knowNode makes a node known; one that is known keeps its settings.
func knowNode(ctx context.Context, tx bun.Tx, id inventory.NodeID) error {
	if known, err := nodeSettings(ctx, tx, id); err != nil || known != nil {
		return err
	}
	revision, err := nextRevision(ctx, tx)
	if err != nil {
		return err
	}
	row, err := newNodeRow(inventory.NodeSettings{Node: id}, revision)
	if err != nil {
		return err
	}
	_, err = tx.NewInsert().Model(row).On("CONFLICT (id) DO NOTHING").Exec(ctx)
	return err
}
