package bunstore

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

type auditRow struct {
	bun.BaseModel `bun:"table:audit"`

	Seq       int64  `bun:"seq,pk"`
	At        int64  `bun:"at"`
	Principal string `bun:"principal"`
	Claimed   string `bun:"claimed"`
	Action    string `bun:"action"`
	Object    string `bun:"object"`
	Before    string `bun:"before_json"`
	After     string `bun:"after_json"`
	RequestID string `bun:"request_id"`
	Reason    string `bun:"reason"`
	Hash      string `bun:"hash"`
}

func newAuditRow(e *storage.AuditEvent) *auditRow {
	return &auditRow{
		Seq: e.Seq, At: nanos(e.At), Principal: e.Principal, Claimed: e.Claimed, Action: e.Action, Object: e.Object,
		Before: e.Before, After: e.After, RequestID: e.RequestID, Reason: e.Reason, Hash: e.Hash,
	}
}

func (r *auditRow) event() storage.AuditEvent {
	return storage.AuditEvent{
		Seq: r.Seq, At: instant(r.At), Principal: r.Principal, Claimed: r.Claimed, Action: r.Action, Object: r.Object,
		Before: r.Before, After: r.After, RequestID: r.RequestID, Reason: r.Reason, Hash: r.Hash,
	}
}

type auditHeadRow struct {
	bun.BaseModel `bun:"table:audit_head"`

	ID   int64  `bun:"id,pk"`
	Seq  int64  `bun:"seq"`
	Hash string `bun:"hash"`
}

// note appends an event to the chain, in the transaction of what it notes. The
// head is moved first: that takes its lock, so two writers never follow the same
// event.
func note(ctx context.Context, tx bun.Tx, now time.Time, by inventory.Author, act storage.Act) error {
	e, err := storage.NewAuditEvent(now, by, act)
	if err != nil {
		return err
	}
	var head storage.AuditHead
	err = tx.QueryRowContext(ctx, `UPDATE audit_head SET seq = seq + 1 WHERE id = 1 RETURNING seq - 1, hash`).Scan(&head.Seq, &head.Hash)
	if err != nil {
		return err
	}
	head = e.Follow(head)
	if _, err := tx.NewInsert().Model(newAuditRow(&e)).Exec(ctx); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE audit_head SET hash = ? WHERE id = 1`, head.Hash)
	return err
}

// ListAudit returns events newest first.
func (s *Store) ListAudit(ctx context.Context, q storage.AuditQuery) ([]storage.AuditEvent, error) {
	if q.Limit <= 0 {
		q.Limit = storage.AuditLimit
	}
	out := []storage.AuditEvent{}
	if !isText(q.Object) || !isText(q.Principal) {
		return out, nil
	}
	var rows []auditRow
	err := s.read(ctx, func(db bun.IDB) error {
		sel := db.NewSelect().Model(&rows).Order("seq DESC").Limit(int64(q.Limit))
		if q.Before != 0 {
			sel = sel.Where("seq < ?", q.Before)
		}
		if q.Object != "" {
			sel = sel.Where("object = ?", q.Object)
		}
		if q.Principal != "" {
			sel = sel.Where("principal = ?", q.Principal)
		}
		return sel.Scan(ctx)
	})
	for i := range rows {
		out = append(out, rows[i].event())
	}
	return out, err
}

// RecordAudit appends an event for an act that changes no row.
func (s *Store) RecordAudit(ctx context.Context, by inventory.Author, object, before, after string) error {
	return s.change(ctx, by, func(context.Context, bun.Tx, time.Time) (storage.Act, error) {
		return storage.ActRecord(object, before, after), nil
	})
}

// verifyPage is how many events VerifyAudit holds at once.
const verifyPage = 500

// VerifyAudit walks the chain on one state of the store, some events at a time.
func (s *Store) VerifyAudit(ctx context.Context) error {
	return s.readWhole(ctx, func(ctx context.Context, tx bun.Tx) error {
		var kept auditHeadRow
		if err := tx.NewSelect().Model(&kept).Where("id = 1").Scan(ctx); err != nil {
			return err
		}
		var at storage.AuditHead
		for {
			var rows []auditRow
			if err := tx.NewSelect().Model(&rows).Where("seq > ?", at.Seq).Order("seq").Limit(verifyPage).Scan(ctx); err != nil {
				return err
			}
			if len(rows) == 0 {
				return at.Ends(storage.AuditHead{Seq: kept.Seq, Hash: kept.Hash})
			}
			for i := range rows {
				e := rows[i].event()
				var err error
				if at, err = at.Check(&e); err != nil {
					return err
				}
			}
		}
	})
}
