package memstore

import (
	"context"
	"slices"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// note appends an event to the chain.
func (s *Store) note(now time.Time, by inventory.Author, a storage.Act) error {
	e, err := storage.NewAuditEvent(now, by, a)
	if err != nil {
		return err
	}
	s.head = e.Follow(s.head)
	s.audit = append(s.audit, e)
	return nil
}

// ListAudit returns events newest first.
func (s *Store) ListAudit(ctx context.Context, q storage.AuditQuery) ([]storage.AuditEvent, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = storage.AuditLimit
	}
	out := []storage.AuditEvent{}
	err := s.do(ctx, func() error {
		for _, e := range slices.Backward(s.audit) {
			switch {
			case len(out) == limit:
				return nil
			case q.Before != 0 && e.Seq >= q.Before,
				q.Object != "" && e.Object != q.Object,
				q.Principal != "" && e.Principal != q.Principal:
			default:
				out = append(out, e)
			}
		}
		return nil
	})
	return out, err
}

// RecordAudit appends an event for an act that changes no row.
func (s *Store) RecordAudit(ctx context.Context, by inventory.Author, object, before, after string) error {
	return s.change(ctx, by, func(time.Time) (plan, error) {
		return plan{storage.ActRecord(object, before, after), func() {}}, nil
	})
}

// VerifyAudit walks the chain.
func (s *Store) VerifyAudit(ctx context.Context) error {
	return s.do(ctx, func() error {
		var at storage.AuditHead
		for i := range s.audit {
			var err error
			if at, err = at.Check(&s.audit[i]); err != nil {
				return err
			}
		}
		return at.Ends(s.head)
	})
}
