package bunstore

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

type adminTokenRow struct {
	bun.BaseModel `bun:"table:admin_tokens"`

	ID        string `bun:"id,pk"`
	Name      string `bun:"name"`
	Role      string `bun:"role"`
	Hash      string `bun:"hash"`
	CreatedBy string `bun:"created_by"`
	CreatedAt int64  `bun:"created_at"`
	ExpiresAt int64  `bun:"expires_at,nullzero"`
	RevokedAt int64  `bun:"revoked_at,nullzero"`
}

func (r *adminTokenRow) token() storage.AdminToken {
	return storage.AdminToken{
		ID: r.ID, Name: r.Name, Role: storage.Role(r.Role), Hash: r.Hash, CreatedBy: r.CreatedBy,
		CreatedAt: instant(r.CreatedAt), ExpiresAt: instant(r.ExpiresAt), RevokedAt: instant(r.RevokedAt),
	}
}

// CreateAdminToken keeps a new admin token.
func (s *Store) CreateAdminToken(ctx context.Context, t storage.AdminToken, by inventory.Author) error {
	return s.change(ctx, by, func(ctx context.Context, tx bun.Tx, now time.Time) (storage.Act, error) {
		if err := storage.CheckAdminToken(&t); err != nil {
			return storage.Act{}, err
		}
		if t.CreatedAt.IsZero() {
			t.CreatedAt = now
		}
		row := adminTokenRow{
			ID: t.ID, Name: t.Name, Role: string(t.Role), Hash: t.Hash, CreatedBy: t.CreatedBy,
			CreatedAt: nanos(t.CreatedAt), ExpiresAt: nanos(t.ExpiresAt),
		}
		kept, err := changed(tx.NewInsert().Model(&row).On("CONFLICT (id) DO NOTHING").Exec(ctx))
		if err == nil && !kept {
			err = fmt.Errorf("admin token %q: %w", t.ID, storage.ErrExists)
		}
		t = row.token()
		return storage.ActCreateAdminToken(&t), err
	})
}

// ListAdminTokens returns every token, revoked ones too, newest first.
func (s *Store) ListAdminTokens(ctx context.Context) ([]storage.AdminToken, error) {
	return list(ctx, s, inOrder("created_at DESC", "id"), sure((*adminTokenRow).token))
}

// AdminToken finds one by id.
func (s *Store) AdminToken(ctx context.Context, id string) (storage.AdminToken, error) {
	var out storage.AdminToken
	err := s.read(ctx, func(db bun.IDB) error {
		row, err := adminToken(ctx, db, id)
		if err == nil {
			out = row.token()
		}
		return err
	})
	return out, err
}

func adminToken(ctx context.Context, db bun.IDB, id string) (*adminTokenRow, error) {
	row := adminTokenRow{ID: id}
	if isText(id) {
		found, err := noRow(db.NewSelect().Model(&row).WherePK().Scan(ctx))
		if err != nil || found {
			return &row, err
		}
	}
	return nil, fmt.Errorf("admin token %q: %w", id, storage.ErrNotFound)
}

// RevokeAdminToken sets the time of revocation.
func (s *Store) RevokeAdminToken(ctx context.Context, id string, by inventory.Author) error {
	return s.change(ctx, by, func(ctx context.Context, tx bun.Tx, now time.Time) (storage.Act, error) {
		row, err := adminToken(ctx, tx, id)
		if err != nil {
			return storage.Act{}, err
		}
		done, err := changed(tx.NewUpdate().Model(row).WherePK().Set("revoked_at = ?", nanos(now)).Where("revoked_at IS NULL").Exec(ctx))
		if err != nil || !done {
			return storage.Act{}, err
		}
		before := row.token()
		return storage.ActRevokeAdminToken(&before, now), nil
	})
}
