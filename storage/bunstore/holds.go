package bunstore

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

type holdRow struct {
	bun.BaseModel `bun:"table:holds"`

	Domain string `bun:"domain,pk"`
	Data   string `bun:"data"`
}

func (r *holdRow) hold() (inventory.Hold, error) {
	var h inventory.Hold
	err := decode("hold of "+r.Domain, r.Data, &h)
	return h, err
}

// ListHolds returns every hold, ordered by its domain's text.
func (s *Store) ListHolds(ctx context.Context) ([]inventory.Hold, error) {
	return list(ctx, s, inOrder("domain"), (*holdRow).hold)
}

// PutHold keeps a hold in place of the one its domain had.
func (s *Store) PutHold(ctx context.Context, h inventory.Hold, by inventory.Author) error {
	return s.change(ctx, by, func(ctx context.Context, tx bun.Tx, _ time.Time) (storage.Act, error) {
		if err := storage.CheckHold(&h); err != nil {
			return storage.Act{}, err
		}
		h.Since, h.From, h.Until = h.Since.UTC(), h.From.UTC(), h.Until.UTC()
		data, err := encode(h)
		if err != nil {
			return storage.Act{}, err
		}
		before, err := holdOf(ctx, tx, h.Domain)
		if err != nil {
			return storage.Act{}, err
		}
		row := holdRow{Domain: h.Domain.String(), Data: data}
		_, err = tx.NewInsert().Model(&row).On("CONFLICT (domain) DO UPDATE").Set("data = EXCLUDED.data").Exec(ctx)
		return storage.ActPutHold(before, &h), err
	})
}

// DeleteHold drops the hold of a domain.
func (s *Store) DeleteHold(ctx context.Context, d inventory.Domain, by inventory.Author) error {
	return s.change(ctx, by, func(ctx context.Context, tx bun.Tx, _ time.Time) (storage.Act, error) {
		before, err := holdOf(ctx, tx, d)
		if err != nil || before == nil {
			return storage.Act{}, err
		}
		_, err = tx.NewDelete().Model((*holdRow)(nil)).Where("domain = ?", d.String()).Exec(ctx)
		return storage.ActDeleteHold(before), err
	})
}

// holdOf returns the hold of a domain, or nil.
func holdOf(ctx context.Context, tx bun.Tx, d inventory.Domain) (*inventory.Hold, error) {
	row := holdRow{Domain: d.String()}
	if !isText(row.Domain) {
		return nil, nil
	}
	found, err := noRow(tx.NewSelect().Model(&row).WherePK().Scan(ctx))
	if err != nil || !found {
		return nil, err
	}
	h, err := row.hold()
	return &h, err
}
