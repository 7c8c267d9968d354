package bunstore

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/storage"
)

// leaseLeader is the name of the one lease there is.
const leaseLeader = "leader"

type leaseRow struct {
	bun.BaseModel `bun:"table:leases"`

	Name      string `bun:"name,pk"`
	Holder    string `bun:"holder"`
	Epoch     int64  `bun:"epoch"`
	ExpiresAt int64  `bun:"expires_at,nullzero"`
}

func (r *leaseRow) lease() storage.Lease {
	return storage.Lease{Holder: r.Holder, Epoch: r.Epoch, ExpiresAt: instant(r.ExpiresAt)}
}

// Acquire takes the lease when it is free, past its end or the holder's own.
func (s *Store) Acquire(ctx context.Context, holder string) (storage.Lease, error) {
	var out storage.Lease
	err := s.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := storage.CheckHolder(holder); err != nil {
			return err
		}
		// The row's lock first: what is read after it stays true to the end.
		if _, err := tx.ExecContext(ctx, `UPDATE leases SET epoch = epoch WHERE name = ?`, leaseLeader); err != nil {
			return err
		}
		now := time.Now().UTC().Round(0)
		row := leaseRow{Name: leaseLeader}
		if err := tx.NewSelect().Model(&row).WherePK().Scan(ctx); err != nil {
			return err
		}
		old := row.lease()
		if old.Live(now) && old.Holder != holder {
			return old.Held()
		}
		row = leaseRow{Name: leaseLeader, Holder: holder, Epoch: old.Epoch + 1, ExpiresAt: nanos(now.Add(storage.LeaseLife))}
		_, err := tx.NewUpdate().Model(&row).WherePK().Exec(ctx)
		out = row.lease()
		return err
	})
	if err != nil {
		return storage.Lease{}, err
	}
	return out, nil
}

// Renew extends the lease.
func (s *Store) Renew(ctx context.Context, l storage.Lease) (storage.Lease, error) {
	err := s.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := storage.CheckHolder(l.Holder); err != nil {
			return fmt.Errorf("%w: %w", storage.ErrLost, err)
		}
		l.ExpiresAt = time.Now().UTC().Round(0).Add(storage.LeaseLife)
		done, err := changed(tx.NewUpdate().Model((*leaseRow)(nil)).Set("expires_at = ?", nanos(l.ExpiresAt)).
			Where("name = ? AND epoch = ? AND holder = ?", leaseLeader, l.Epoch, l.Holder).Exec(ctx))
		if err == nil && !done {
			err = fmt.Errorf("lease of %q at epoch %d: %w", l.Holder, l.Epoch, storage.ErrLost)
		}
		return err
	})
	if err != nil {
		return storage.Lease{}, err
	}
	return l, nil
}

// Release gives the lease up.
func (s *Store) Release(ctx context.Context, l storage.Lease) error {
	if !isText(l.Holder) {
		return nil
	}
	return s.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewUpdate().Model((*leaseRow)(nil)).Set("holder = '', expires_at = NULL").
			Where("name = ? AND epoch = ? AND holder = ?", leaseLeader, l.Epoch, l.Holder).Exec(ctx)
		return err
	})
}

// endStaleLease ends the lease of a process that is gone: this one has the
// file's lock, so no other one leads. A control plane that was killed is up
// again without waiting for its former self. The epoch stays.
func (s *Store) endStaleLease(ctx context.Context) error {
	return s.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewUpdate().Model((*leaseRow)(nil)).Set("holder = '', expires_at = NULL").Where("name = ? AND holder <> ''", leaseLeader).Exec(ctx)
		return err
	})
}
