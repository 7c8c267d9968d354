package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"llmgw.io/llmgw/storage"
)

// AppendUsage keeps rows; those whose request id is there already stay as they
// are.
func (s *Store) AppendUsage(ctx context.Context, rows []storage.Request) error {
	if err := storage.CheckUsage(rows); err != nil {
		return err
	}
	kept := make([]storage.Request, len(rows))
	data := make([][]byte, len(rows))
	for i := range rows {
		kept[i] = rows[i].Kept(time.Now())
		var err error
		if data[i], err = encode(kept[i]); err != nil {
			return err
		}
	}
	return s.do(ctx, func() error {
		for i := range kept {
			if _, ok := s.usage[kept[i].ID]; !ok {
				s.usage[kept[i].ID] = data[i]
			}
			if k, ok := s.keys[kept[i].KeyID]; ok && kept[i].At.After(k.LastUsed) {
				k.LastUsed = kept[i].At
				s.keys[k.ID] = k
			}
		}
		return nil
	})
}

// Request finds one record.
func (s *Store) Request(ctx context.Context, id string) (storage.Request, error) {
	var out storage.Request
	err := s.do(ctx, func() error {
		data, ok := s.usage[id]
		if !ok {
			return fmt.Errorf("request %q: %w", id, storage.ErrNotFound)
		}
		out = decode[storage.Request](data)
		return nil
	})
	return out, err
}

// SumUsage sums by a level since a time, ordered by id.
func (s *Store) SumUsage(ctx context.Context, q storage.UsageQuery) ([]storage.UsageSum, error) {
	out := []storage.UsageSum{}
	err := s.do(ctx, func() error {
		if !q.By.Valid() {
			return fmt.Errorf("%q is not a level; the levels are %v: %w", q.By, storage.Levels, storage.ErrInvalid)
		}
		sums, keys := map[string]*storage.UsageSum{}, map[[2]string]bool{}
		for _, data := range s.usage {
			r := decode[storage.Request](data)
			if !q.Since.IsZero() && r.At.Before(q.Since) {
				continue
			}
			id, name := s.scope(q.By, &r)
			sum := sums[id]
			if sum == nil {
				sum = &storage.UsageSum{Scope: q.By, ID: id, Name: name}
				sums[id] = sum
			}
			if used := [2]string{id, r.KeyID}; r.KeyID != "" && !keys[used] {
				keys[used] = true
				sum.Keys++
			}
			add(sum, &r)
		}
		for _, id := range slices.Sorted(maps.Keys(sums)) {
			out = append(out, *sums[id])
		}
		return nil
	})
	return out, err
}

// scope is where a request counts at a level, and what that place is called.
func (s *Store) scope(by storage.Level, r *storage.Request) (id, name string) {
	switch by {
	case storage.ByModel:
		return r.Billed(), r.Billed()
	case storage.ByKey:
		return r.KeyID, s.keys[r.KeyID].Name
	case storage.ByUser:
		return r.UserID, ""
	}
	if r.ProjectID == storage.DefaultProject {
		return storage.DefaultProject, storage.DefaultProject
	}
	if by == storage.ByProject {
		return r.ProjectID, ""
	}
	return "", ""
}

func add(sum *storage.UsageSum, r *storage.Request) {
	sum.Requests++
	sum.PromptTokens += r.PromptTokens
	sum.CompletionTokens += r.CompletionTokens
	sum.CostMicros += r.CostMicros
	if r.Failed() {
		sum.Errors++
	}
	if r.At.After(sum.LastAt) {
		sum.LastAt = r.At
	}
}
