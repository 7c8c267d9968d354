package memstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"fmt"
	"maps"
	"slices"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

type joinRow struct {
	token   inventory.JoinToken
	revoked bool
}

type certificateRow struct {
	cert    inventory.Certificate
	revoked bool
}

// Authority returns the cluster's CA, made by the function when there is none.
func (s *Store) Authority(ctx context.Context, make func() (certPEM, keyPEM []byte, err error)) (certPEM, keyPEM []byte, err error) {
	err = s.do(ctx, func() error {
		certPEM, keyPEM = bytes.Clone(s.certPEM), bytes.Clone(s.keyPEM)
		return nil
	})
	if err != nil || certPEM != nil {
		return certPEM, keyPEM, err
	}
	// Made outside of the lock: it may take its time. The first one that is
	// kept counts.
	newCert, newKey, err := make()
	if err != nil {
		return nil, nil, err
	}
	err = s.change(ctx, storage.AuthorityAuthor(), func(time.Time) (plan, error) {
		certPEM, keyPEM = bytes.Clone(s.certPEM), bytes.Clone(s.keyPEM)
		if certPEM != nil {
			return plan{}, nil
		}
		return plan{storage.ActAuthority(), func() {
			s.certPEM, s.keyPEM = bytes.Clone(newCert), bytes.Clone(newKey)
			certPEM, keyPEM = newCert, newKey
		}}, nil
	})
	return certPEM, keyPEM, err
}

// UseJoinToken marks a token as used and makes the node known.
func (s *Store) UseJoinToken(ctx context.Context, use storage.TokenUse) error {
	return s.change(ctx, storage.JoinAuthor(use.ID), func(now time.Time) (plan, error) {
		if err := storage.CheckNode(use.Node); err != nil {
			return plan{}, err
		}
		if !use.At.IsZero() {
			now = utc(use.At)
		}
		row, ok := s.joinTokens[use.ID]
		if !ok || row.revoked || subtle.ConstantTimeCompare([]byte(row.token.Hash), []byte(use.Hash)) != 1 {
			return plan{}, fmt.Errorf("join token %q: %w", use.ID, storage.ErrNotFound)
		}
		if err := storage.CheckTokenLife(row.token, now); err != nil {
			return plan{}, err
		}
		data, err := encode(inventory.NodeSettings{Node: use.Node})
		if err != nil {
			return plan{}, err
		}
		return plan{storage.ActUseJoinToken(row.token, use.Node, now), func() {
			row.token.UsedBy, row.token.UsedAt = use.Node, now
			s.joinTokens[use.ID] = row
			if _, known := s.nodes[use.Node]; known {
				s.revokeBefore(use.Node, now)
			} else {
				s.nodes[use.Node] = nodeRow{data: data, revision: s.bump()}
			}
		}}, nil
	})
}

// revokeBefore revokes what a node was given before a time. It never moves a
// revocation back.
func (s *Store) revokeBefore(id inventory.NodeID, at time.Time) {
	if at.After(s.revocations[id]) {
		s.revocations[id] = at
	}
	for serial, c := range s.certificates {
		if c.cert.Node == id && c.cert.IssuedAt.Before(at) {
			c.revoked = true
			s.certificates[serial] = c
		}
	}
}

// KeepCertificate records an issued certificate.
func (s *Store) KeepCertificate(ctx context.Context, c inventory.Certificate) error {
	return s.change(ctx, storage.NodeAuthor(c.Node), func(time.Time) (plan, error) {
		if err := storage.CheckCertificate(c); err != nil {
			return plan{}, err
		}
		if _, ok := s.certificates[c.Serial]; ok {
			return plan{}, nil
		}
		c.IssuedAt, c.ExpiresAt = utc(c.IssuedAt), utc(c.ExpiresAt)
		return plan{storage.ActCertificate(c), func() { s.certificates[c.Serial] = certificateRow{cert: c} }}, nil
	})
}

// Revocations returns every revocation, ordered by node.
func (s *Store) Revocations(ctx context.Context) ([]inventory.Revocation, error) {
	out := []inventory.Revocation{}
	err := s.do(ctx, func() error {
		for _, id := range slices.Sorted(maps.Keys(s.revocations)) {
			out = append(out, inventory.Revocation{Node: id, At: s.revocations[id]})
		}
		return nil
	})
	return out, err
}

// CreateJoinToken keeps a new token.
func (s *Store) CreateJoinToken(ctx context.Context, t inventory.JoinToken, by inventory.Author) error {
	return s.change(ctx, by, func(now time.Time) (plan, error) {
		if err := storage.CheckJoinToken(t); err != nil {
			return plan{}, err
		}
		if _, ok := s.joinTokens[t.ID]; ok {
			return plan{}, fmt.Errorf("join token %q: %w", t.ID, storage.ErrExists)
		}
		if t.CreatedAt.IsZero() {
			t.CreatedAt = now
		}
		t.CreatedAt, t.ExpiresAt, t.UsedBy, t.UsedAt = utc(t.CreatedAt), utc(t.ExpiresAt), "", time.Time{}
		return plan{storage.ActCreateJoinToken(t), func() { s.joinTokens[t.ID] = joinRow{token: t} }}, nil
	})
}

// ListJoinTokens returns every token that was not revoked, newest first.
func (s *Store) ListJoinTokens(ctx context.Context) ([]inventory.JoinToken, error) {
	out := []inventory.JoinToken{}
	err := s.do(ctx, func() error {
		for _, row := range s.joinTokens {
			if !row.revoked {
				out = append(out, row.token)
			}
		}
		return nil
	})
	slices.SortFunc(out, func(a, b inventory.JoinToken) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, err
}

// RevokeJoinToken takes a token back.
func (s *Store) RevokeJoinToken(ctx context.Context, id string, by inventory.Author) error {
	return s.change(ctx, by, func(now time.Time) (plan, error) {
		row, ok := s.joinTokens[id]
		if !ok {
			return plan{}, fmt.Errorf("join token %q: %w", id, storage.ErrNotFound)
		}
		if row.revoked {
			return plan{}, nil
		}
		return plan{storage.ActRevokeJoinToken(row.token, now), func() {
			row.revoked = true
			s.joinTokens[id] = row
		}}, nil
	})
}
