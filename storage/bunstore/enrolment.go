package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

type authorityRow struct {
	bun.BaseModel `bun:"table:authority"`

	ID        int64  `bun:"id,pk"`
	CertPEM   string `bun:"cert_pem"`
	KeyPEM    string `bun:"key_pem"`
	CreatedAt int64  `bun:"created_at"`
}

type certificateRow struct {
	bun.BaseModel `bun:"table:certificates"`

	Serial    string `bun:"serial,pk"`
	Node      string `bun:"node"`
	IssuedAt  int64  `bun:"issued_at,nullzero"`
	ExpiresAt int64  `bun:"expires_at,nullzero"`
	RevokedAt int64  `bun:"revoked_at,nullzero"`
}

type revocationRow struct {
	bun.BaseModel `bun:"table:revocations"`

	Node string `bun:"node,pk"`
	At   int64  `bun:"at"`
}

func (r *revocationRow) revocation() inventory.Revocation {
	return inventory.Revocation{Node: inventory.NodeID(r.Node), At: instant(r.At)}
}

// Authority returns the cluster's CA, made by the function when there is none.
// The function runs outside of any transaction: it may take its time, and the
// first one that is kept counts.
func (s *Store) Authority(ctx context.Context, make func() (certPEM, keyPEM []byte, err error)) (certPEM, keyPEM []byte, err error) {
	row := authorityRow{ID: 1}
	err = s.read(ctx, func(db bun.IDB) error { return db.NewSelect().Model(&row).WherePK().Scan(ctx) })
	if err == nil {
		return []byte(row.CertPEM), []byte(row.KeyPEM), nil
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return nil, nil, err
	}
	if certPEM, keyPEM, err = make(); err != nil {
		return nil, nil, err
	}
	err = s.change(ctx, storage.AuthorityAuthor(), func(ctx context.Context, tx bun.Tx, now time.Time) (storage.Act, error) {
		row = authorityRow{ID: 1, CertPEM: string(certPEM), KeyPEM: string(keyPEM), CreatedAt: nanos(now)}
		kept, err := changed(tx.NewInsert().Model(&row).On("CONFLICT (id) DO NOTHING").Exec(ctx))
		if err != nil {
			return storage.Act{}, err
		}
		if kept {
			return storage.ActAuthority(), nil
		}
		return storage.Act{}, tx.NewSelect().Model(&row).WherePK().Scan(ctx)
	})
	if err != nil {
		return nil, nil, err
	}
	return []byte(row.CertPEM), []byte(row.KeyPEM), nil
}

// KeepCertificate records an issued certificate.
func (s *Store) KeepCertificate(ctx context.Context, c inventory.Certificate) error {
	return s.change(ctx, storage.NodeAuthor(c.Node), func(ctx context.Context, tx bun.Tx, _ time.Time) (storage.Act, error) {
		if err := storage.CheckCertificate(c); err != nil {
			return storage.Act{}, err
		}
		row := certificateRow{Serial: c.Serial, Node: string(c.Node), IssuedAt: nanos(c.IssuedAt), ExpiresAt: nanos(c.ExpiresAt)}
		kept, err := changed(tx.NewInsert().Model(&row).On("CONFLICT (serial) DO NOTHING").Exec(ctx))
		if err != nil || !kept {
			return storage.Act{}, err
		}
		return storage.ActCertificate(c), nil
	})
}

// Revocations returns every revocation, ordered by node.
func (s *Store) Revocations(ctx context.Context) ([]inventory.Revocation, error) {
	return list(ctx, s, inOrder("node"), sure((*revocationRow).revocation))
}

// noRow turns the absence of a row into false.
func noRow(err error) (found bool, rest error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
