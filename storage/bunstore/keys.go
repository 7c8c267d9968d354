package bunstore

import (
	"context"
	"database/sql"
	"fmt"
	"net/netip"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

type keyRow struct {
	bun.BaseModel `bun:"table:keys"`

	ID        string         `bun:"id,pk"`
	Name      string         `bun:"name"`
	ProjectID string         `bun:"project_id"`
	UserID    string         `bun:"user_id"`
	Hash      string         `bun:"hash"`
	CreatedAt int64          `bun:"created_at"`
	ExpiresAt int64          `bun:"expires_at,nullzero"`
	RevokedAt int64          `bun:"revoked_at,nullzero"`
	LastUsed  int64          `bun:"last_used,nullzero"`
	Models    sql.NullString `bun:"models"`
	CIDRs     sql.NullString `bun:"cidrs"`
}

func newKeyRow(k *storage.Key) (*keyRow, error) {
	models, err := encodeList(k.Models)
	if err != nil {
		return nil, err
	}
	cidrs, err := encodeList(k.CIDRs)
	if err != nil {
		return nil, err
	}
	return &keyRow{
		ID: k.ID, Name: k.Name, ProjectID: k.Project, UserID: k.User, Hash: k.Hash,
		CreatedAt: nanos(k.CreatedAt), ExpiresAt: nanos(k.ExpiresAt), Models: models, CIDRs: cidrs,
	}, nil
}

func (r *keyRow) key() (storage.Key, error) {
	k := storage.Key{
		ID: r.ID, Name: r.Name, Project: r.ProjectID, User: r.UserID, Hash: r.Hash, CreatedAt: instant(r.CreatedAt),
		ExpiresAt: instant(r.ExpiresAt), RevokedAt: instant(r.RevokedAt), LastUsed: instant(r.LastUsed),
	}
	var err error
	if k.Models, err = decodeList[string]("models of key "+r.ID, r.Models); err != nil {
		return k, err
	}
	k.CIDRs, err = decodeList[netip.Prefix]("addresses of key "+r.ID, r.CIDRs)
	return k, err
}

// encodeList keeps nil apart from empty: one means everything, the other
// nothing.
func encodeList[T any](list []T) (sql.NullString, error) {
	if list == nil {
		return sql.NullString{}, nil
	}
	text, err := encode(list)
	return sql.NullString{String: text, Valid: true}, err
}

func decodeList[T any](what string, text sql.NullString) ([]T, error) {
	if !text.Valid {
		return nil, nil
	}
	list := []T{}
	return list, decode(what, text.String, &list)
}

// CreateKey keeps a new client key.
func (s *Store) CreateKey(ctx context.Context, k storage.Key, by inventory.Author) error {
	return s.change(ctx, by, func(ctx context.Context, tx bun.Tx, now time.Time) (storage.Act, error) {
		if err := storage.CheckKey(&k); err != nil {
			return storage.Act{}, err
		}
		if k.Project == "" {
			k.Project = storage.DefaultProject
		}
		if k.CreatedAt.IsZero() {
			k.CreatedAt = now
		}
		if err := projectExists(ctx, tx, k.Project); err != nil {
			return storage.Act{}, err
		}
		row, err := newKeyRow(&k)
		if err != nil {
			return storage.Act{}, err
		}
		kept, err := changed(tx.NewInsert().Model(row).On("CONFLICT (id) DO NOTHING").Exec(ctx))
		if err != nil {
			return storage.Act{}, err
		}
		if !kept {
			return storage.Act{}, fmt.Errorf("key %q: %w", k.ID, storage.ErrExists)
		}
		k, err = row.key()
		return storage.ActCreateKey(&k), err
	})
}

func projectExists(ctx context.Context, tx bun.Tx, id string) error {
	var one int
	found, err := noRow(tx.QueryRowContext(ctx, `SELECT 1 FROM projects WHERE id = ?`, id).Scan(&one))
	if err == nil && !found {
		err = fmt.Errorf("project %q: %w", id, storage.ErrNotFound)
	}
	return err
}

// ListKeys returns every key, ordered by id.
func (s *Store) ListKeys(ctx context.Context) ([]storage.Key, error) {
	return list(ctx, s, inOrder("id"), (*keyRow).key)
}

// Key finds one by id.
func (s *Store) Key(ctx context.Context, id string) (storage.Key, error) {
	var out storage.Key
	err := s.read(ctx, func(db bun.IDB) error {
		row, err := key(ctx, db, id)
		if err != nil {
			return err
		}
		out, err = row.key()
		return err
	})
	return out, err
}

func key(ctx context.Context, db bun.IDB, id string) (*keyRow, error) {
	row := keyRow{ID: id}
	if isText(id) {
		found, err := noRow(db.NewSelect().Model(&row).WherePK().Scan(ctx))
		if err != nil || found {
			return &row, err
		}
	}
	return nil, fmt.Errorf("key %q: %w", id, storage.ErrNotFound)
}

// RevokeKey sets the time of revocation.
func (s *Store) RevokeKey(ctx context.Context, id string, by inventory.Author) error {
	return s.change(ctx, by, func(ctx context.Context, tx bun.Tx, now time.Time) (storage.Act, error) {
		row, err := key(ctx, tx, id)
		if err != nil {
			return storage.Act{}, err
		}
		done, err := changed(tx.NewUpdate().Model(row).WherePK().Set("revoked_at = ?", nanos(now)).Where("revoked_at IS NULL").Exec(ctx))
		if err != nil || !done {
			return storage.Act{}, err
		}
		before, err := row.key()
		return storage.ActRevokeKey(&before, now), err
	})
}
