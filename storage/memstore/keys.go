package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// CreateKey keeps a new client key.
func (s *Store) CreateKey(ctx context.Context, k storage.Key, by inventory.Author) error {
	return s.change(ctx, by, func(now time.Time) (plan, error) {
		if err := storage.CheckKey(&k); err != nil {
			return plan{}, err
		}
		if k.Project == "" {
			k.Project = storage.DefaultProject
		}
		if k.Project != storage.DefaultProject {
			return plan{}, fmt.Errorf("project %q: %w", k.Project, storage.ErrNotFound)
		}
		if _, ok := s.keys[k.ID]; ok {
			return plan{}, fmt.Errorf("key %q: %w", k.ID, storage.ErrExists)
		}
		if k.CreatedAt.IsZero() {
			k.CreatedAt = now
		}
		k = cloneKey(k)
		k.CreatedAt, k.ExpiresAt = utc(k.CreatedAt), utc(k.ExpiresAt)
		k.RevokedAt, k.LastUsed, k.Declared = time.Time{}, time.Time{}, false
		return plan{storage.ActCreateKey(&k), func() { s.keys[k.ID] = k }}, nil
	})
}

// ListKeys returns every key, ordered by id.
func (s *Store) ListKeys(ctx context.Context) ([]storage.Key, error) {
	out := []storage.Key{}
	err := s.do(ctx, func() error {
		for _, id := range slices.Sorted(maps.Keys(s.keys)) {
			out = append(out, cloneKey(s.keys[id]))
		}
		return nil
	})
	return out, err
}

// Key finds one by id.
func (s *Store) Key(ctx context.Context, id string) (storage.Key, error) {
	var out storage.Key
	err := s.do(ctx, func() error {
		k, ok := s.keys[id]
		if !ok {
			return fmt.Errorf("key %q: %w", id, storage.ErrNotFound)
		}
		out = cloneKey(k)
		return nil
	})
	return out, err
}

// RevokeKey sets the time of revocation.
func (s *Store) RevokeKey(ctx context.Context, id string, by inventory.Author) error {
	return s.change(ctx, by, func(now time.Time) (plan, error) {
		k, ok := s.keys[id]
		if !ok {
			return plan{}, fmt.Errorf("key %q: %w", id, storage.ErrNotFound)
		}
		if !k.RevokedAt.IsZero() {
			return plan{}, nil
		}
		return plan{storage.ActRevokeKey(&k, now), func() {
			k.RevokedAt = now
			s.keys[id] = k
		}}, nil
	})
}

// CreateAdminToken keeps a new admin token.
func (s *Store) CreateAdminToken(ctx context.Context, t storage.AdminToken, by inventory.Author) error {
	return s.change(ctx, by, func(now time.Time) (plan, error) {
		if err := storage.CheckAdminToken(&t); err != nil {
			return plan{}, err
		}
		if _, ok := s.adminTokens[t.ID]; ok {
			return plan{}, fmt.Errorf("admin token %q: %w", t.ID, storage.ErrExists)
		}
		if t.CreatedAt.IsZero() {
			t.CreatedAt = now
		}
		t.CreatedAt, t.ExpiresAt, t.RevokedAt = utc(t.CreatedAt), utc(t.ExpiresAt), time.Time{}
		return plan{storage.ActCreateAdminToken(&t), func() { s.adminTokens[t.ID] = t }}, nil
	})
}

// ListAdminTokens returns every token, revoked ones too, newest first.
func (s *Store) ListAdminTokens(ctx context.Context) ([]storage.AdminToken, error) {
	out := []storage.AdminToken{}
	err := s.do(ctx, func() error {
		out = slices.AppendSeq(out, maps.Values(s.adminTokens))
		return nil
	})
	slices.SortFunc(out, func(a, b storage.AdminToken) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, err
}

// AdminToken finds one by id.
func (s *Store) AdminToken(ctx context.Context, id string) (storage.AdminToken, error) {
	var out storage.AdminToken
	err := s.do(ctx, func() error {
		t, ok := s.adminTokens[id]
		if !ok {
			return fmt.Errorf("admin token %q: %w", id, storage.ErrNotFound)
		}
		out = t
		return nil
	})
	return out, err
}

// RevokeAdminToken sets the time of revocation.
func (s *Store) RevokeAdminToken(ctx context.Context, id string, by inventory.Author) error {
	return s.change(ctx, by, func(now time.Time) (plan, error) {
		t, ok := s.adminTokens[id]
		if !ok {
			return plan{}, fmt.Errorf("admin token %q: %w", id, storage.ErrNotFound)
		}
		if !t.RevokedAt.IsZero() {
			return plan{}, nil
		}
		return plan{storage.ActRevokeAdminToken(&t, now), func() {
			t.RevokedAt = now
			s.adminTokens[id] = t
		}}, nil
	})
}

func cloneKey(k storage.Key) storage.Key {
	k.Models, k.CIDRs = slices.Clone(k.Models), slices.Clone(k.CIDRs)
	return k
}
