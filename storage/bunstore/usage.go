package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/storage"
)

type usageRow struct {
	bun.BaseModel `bun:"table:usage_rows"`

	ID               string         `bun:"id,pk"`
	At               int64          `bun:"at"`
	KeyID            string         `bun:"key_id"`
	UserID           string         `bun:"user_id"`
	ProjectID        string         `bun:"project_id"`
	Model            string         `bun:"model"`
	ServedModel      string         `bun:"served_model"`
	Replica          string         `bun:"replica"`
	Endpoint         string         `bun:"endpoint"`
	Stream           bool           `bun:"stream"`
	Status           int            `bun:"status"`
	Outcome          string         `bun:"outcome"`
	LatencyNS        int64          `bun:"latency_ns"`
	QueuedNS         int64          `bun:"queued_ns"`
	FirstByteNS      int64          `bun:"first_byte_ns"`
	PromptTokens     int64          `bun:"prompt_tokens"`
	CachedTokens     int64          `bun:"cached_tokens"`
	CompletionTokens int64          `bun:"completion_tokens"`
	Estimated        bool           `bun:"estimated"`
	CostMicros       int64          `bun:"cost_micros"`
	Attempts         sql.NullString `bun:"attempts"`
	EndUser          string         `bun:"end_user"`
	Tags             sql.NullString `bun:"tags"`
}

func newUsageRow(r *storage.Request) (usageRow, error) {
	row := usageRow{
		ID: r.ID, At: nanos(r.At), KeyID: r.KeyID, UserID: r.UserID, ProjectID: r.ProjectID, Model: r.Model,
		ServedModel: r.ServedModel, Replica: r.Replica, Endpoint: r.Endpoint, Stream: r.Stream, Status: r.Status,
		Outcome: string(r.Outcome), LatencyNS: int64(r.Latency), QueuedNS: int64(r.Queued), FirstByteNS: int64(r.FirstByte),
		PromptTokens: r.PromptTokens, CachedTokens: r.CachedTokens, CompletionTokens: r.CompletionTokens,
		Estimated: r.Estimated, CostMicros: r.CostMicros, EndUser: r.EndUser,
	}
	if len(r.Attempts) > 0 {
		text, err := encode(r.Attempts)
		if err != nil {
			return row, err
		}
		row.Attempts = sql.NullString{String: text, Valid: true}
	}
	if len(r.Tags) > 0 {
		text, err := encode(r.Tags)
		if err != nil {
			return row, err
		}
		row.Tags = sql.NullString{String: text, Valid: true}
	}
	return row, nil
}

func (r *usageRow) request() (storage.Request, error) {
	out := storage.Request{
		ID: r.ID, At: instant(r.At), KeyID: r.KeyID, UserID: r.UserID, ProjectID: r.ProjectID, Model: r.Model,
		ServedModel: r.ServedModel, Replica: r.Replica, Endpoint: r.Endpoint, Stream: r.Stream, Status: r.Status,
		Outcome: storage.Outcome(r.Outcome), Latency: time.Duration(r.LatencyNS), Queued: time.Duration(r.QueuedNS),
		FirstByte: time.Duration(r.FirstByteNS), PromptTokens: r.PromptTokens, CachedTokens: r.CachedTokens,
		CompletionTokens: r.CompletionTokens, Estimated: r.Estimated, CostMicros: r.CostMicros, EndUser: r.EndUser,
	}
	if r.Attempts.Valid {
		if err := decode("attempts of request "+r.ID, r.Attempts.String, &out.Attempts); err != nil {
			return out, err
		}
	}
	if r.Tags.Valid {
		return out, decode("tags of request "+r.ID, r.Tags.String, &out.Tags)
	}
	return out, nil
}

// usageChunk is how many rows one statement writes.
const usageChunk = 250

// AppendUsage keeps rows, all in one transaction; those whose request id is
// there already stay as they are.
func (s *Store) AppendUsage(ctx context.Context, requests []storage.Request) error {
	if err := storage.CheckUsage(requests); err != nil {
		return err
	}
	rows := make([]usageRow, len(requests))
	lastUsed := map[string]int64{}
	for i := range requests {
		kept := requests[i].Kept(time.Now())
		var err error
		if rows[i], err = newUsageRow(&kept); err != nil {
			return err
		}
		lastUsed[kept.KeyID] = max(lastUsed[kept.KeyID], rows[i].At)
	}
	// In order, so that two writers of the same rows never wait for each other.
	slices.SortStableFunc(rows, func(a, b usageRow) int { return cmp.Compare(a.ID, b.ID) })
	in, err := s.usageInsert(ctx)
	if err != nil {
		return err
	}
	return s.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := in.do(ctx, tx, rows); err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(lastUsed)) {
			if _, err := tx.ExecContext(ctx, `UPDATE keys SET last_used = ? WHERE id = ? AND (last_used IS NULL OR last_used < ?)`,
				lastUsed[id], id, lastUsed[id]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Request finds one record.
func (s *Store) Request(ctx context.Context, id string) (storage.Request, error) {
	var out storage.Request
	err := s.read(ctx, func(db bun.IDB) error {
		row := usageRow{ID: id}
		found := false
		if isText(id) {
			var err error
			if found, err = noRow(db.NewSelect().Model(&row).WherePK().Scan(ctx)); err != nil {
				return err
			}
		}
		if !found {
			return fmt.Errorf("request %q: %w", id, storage.ErrNotFound)
		}
		var err error
		out, err = row.request()
		return err
	})
	return out, err
}
