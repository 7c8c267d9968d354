package storagetest

import (
	"context"
	"maps"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// calls is every method that talks to the store, each with arguments that are
// good on a store that has the key k.
func calls(s storage.Store) map[string]func(ctx context.Context) error {
	made := func() ([]byte, []byte, error) { return []byte("c"), []byte("k"), nil }
	all := map[string]func(ctx context.Context) error{
		"Ping":       s.Ping,
		"ListModels": func(ctx context.Context) error { _, err := s.ListModels(ctx); return err },
		"PutModel": func(ctx context.Context) error {
			_, err := s.PutModel(ctx, catalog.Model{Name: "x"}, 0, ann())
			return err
		},
		"DeleteModel": func(ctx context.Context) error { return s.DeleteModel(ctx, "m", 1, ann()) },
		"ListNodes":   func(ctx context.Context) error { _, err := s.ListNodeSettings(ctx); return err },
		"PutNodeSettings": func(ctx context.Context) error {
			_, err := s.PutNodeSettings(ctx, inventory.NodeSettings{Node: "n"}, 0, ann())
			return err
		},
		"DeleteNode": func(ctx context.Context) error { return s.DeleteNode(ctx, "n", ann()) },
		"Authority":  func(ctx context.Context) error { _, _, err := s.Authority(ctx, made); return err },
		"UseJoinToken": func(ctx context.Context) error {
			return s.UseJoinToken(ctx, storage.TokenUse{ID: "t", Hash: "h", Node: "n"})
		},
		"KeepCertificate": func(ctx context.Context) error {
			return s.KeepCertificate(ctx, inventory.Certificate{Serial: "1", Node: "n"})
		},
		"Revocations": func(ctx context.Context) error { _, err := s.Revocations(ctx); return err },
		"CreateJoinToken": func(ctx context.Context) error {
			return s.CreateJoinToken(ctx, inventory.JoinToken{ID: "j", Hash: "h"}, ann())
		},
		"ListJoinTokens":  func(ctx context.Context) error { _, err := s.ListJoinTokens(ctx); return err },
		"RevokeJoinToken": func(ctx context.Context) error { return s.RevokeJoinToken(ctx, "j", ann()) },
		"CreateAdminToken": func(ctx context.Context) error {
			return s.CreateAdminToken(ctx, storage.AdminToken{ID: "a", Hash: "h", Role: storage.RoleOwner}, ann())
		},
		"ListAdminTokens":  func(ctx context.Context) error { _, err := s.ListAdminTokens(ctx); return err },
		"AdminToken":       func(ctx context.Context) error { _, err := s.AdminToken(ctx, "a"); return err },
		"RevokeAdminToken": func(ctx context.Context) error { return s.RevokeAdminToken(ctx, "a", ann()) },
		"CreateKey":        func(ctx context.Context) error { return s.CreateKey(ctx, storage.Key{ID: "new", Hash: "h"}, ann()) },
		"ListKeys":         func(ctx context.Context) error { _, err := s.ListKeys(ctx); return err },
		"Key":              func(ctx context.Context) error { _, err := s.Key(ctx, "k"); return err },
		"RevokeKey":        func(ctx context.Context) error { return s.RevokeKey(ctx, "k", ann()) },
		"AppendUsage":      func(ctx context.Context) error { return s.AppendUsage(ctx, []storage.Request{{ID: "r"}}) },
		"SumUsage": func(ctx context.Context) error {
			_, err := s.SumUsage(ctx, storage.UsageQuery{By: storage.ByKey})
			return err
		},
		"Request":     func(ctx context.Context) error { _, err := s.Request(ctx, "r"); return err },
		"ListAudit":   func(ctx context.Context) error { _, err := s.ListAudit(ctx, storage.AuditQuery{}); return err },
		"RecordAudit": func(ctx context.Context) error { return s.RecordAudit(ctx, ann(), "o", "", "") },
		"VerifyAudit": s.VerifyAudit,
		"Acquire":     func(ctx context.Context) error { _, err := s.Acquire(ctx, "a"); return err },
		"Renew": func(ctx context.Context) error {
			_, err := s.Renew(ctx, storage.Lease{Holder: "a", Epoch: 1})
			return err
		},
		"Release":           func(ctx context.Context) error { return s.Release(ctx, storage.Lease{Holder: "a", Epoch: 1}) },
		"LoadAssignments":   func(ctx context.Context) error { _, err := s.Lead(1).LoadAssignments(ctx); return err },
		"ChangeAssignments": func(ctx context.Context) error { return s.Lead(1).ChangeAssignments(ctx, storage.AssignmentChange{}) },
	}
	maps.Copy(all, holdCalls(s))
	return all
}

func testLifecycle(t *testing.T, open Opener) {
	t.Run("open", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		ok(t, s.Ping(t.Context()))
		if s.Kind() == "" {
			t.Error("want a word for the kind of store, got none")
		}
	})
	t.Run("cancelled calls write nothing", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		ok(t, s.CreateKey(t.Context(), storage.Key{ID: "k", Hash: "h"}, ann()))
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for name, call := range calls(s) {
			t.Run(name, func(t *testing.T) { wantErr(t, context.Canceled, unnoted(t, s, func() error { return call(gone) })) })
		}
		ok(t, s.Ping(t.Context()))
		equal(t, "models", []catalog.Entry{}, must(s.ListModels(t.Context()))(t))
		if k := must(s.Key(t.Context(), "k"))(t); !k.RevokedAt.IsZero() {
			t.Error("want the key as it was, got it revoked by a call that was cancelled")
		}
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		ok(t, s.Close())
		for name, call := range calls(s) {
			t.Run(name, func(t *testing.T) { wantErr(t, storage.ErrClosed, call(t.Context())) })
		}
		wantErr(t, storage.ErrClosed, s.Close())
	})
}
