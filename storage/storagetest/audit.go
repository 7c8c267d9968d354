package storagetest

import (
	"fmt"
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

func testAudit(t *testing.T, open Opener) {
	t.Run("record", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		by := ann()
		by.Action = "models.restart"
		e := noted(t, s, func() error {
			return s.RecordAudit(t.Context(), by, "model:m", "plain words", `{"api_key":"body-secret","n":1}`)
		})
		event(t, storage.AuditEvent{
			Principal: "token:ann", Claimed: "ann", Action: "models.restart", Object: "model:m", RequestID: "req-1", Reason: "because",
			Before: `"plain words"`, After: `{"api_key":"[redacted]","n":1}`,
		}, e)
		ok(t, s.VerifyAudit(t.Context()))
	})
	t.Run("list", func(t *testing.T) {
		t.Parallel()
		testListAudit(t, open(t))
	})
	t.Run("every write names its author", func(t *testing.T) {
		t.Parallel()
		testAuthors(t, open(t))
	})
	t.Run("text that is none", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		by := inventory.Author{Principal: "token:\xff", Claimed: "a\x00b", Reason: "\x00 ’;DROP TABLE audit;--", RequestID: "\xf0\x9f"}
		ok(t, s.RecordAudit(t.Context(), by, "model:\x00", "\xc3\x28", ""))
		ok(t, s.VerifyAudit(t.Context()))
	})
}

func testListAudit(t *testing.T, s storage.Store) {
	ok(t, s.VerifyAudit(t.Context()))
	equal(t, "the log of a fresh store", []storage.AuditEvent{}, must(s.ListAudit(t.Context(), storage.AuditQuery{}))(t))
	bob := inventory.Author{Principal: "token:bob"}
	for i := range 12 {
		by := ann()
		if i%3 == 0 {
			by = bob
		}
		ok(t, s.RecordAudit(t.Context(), by, fmt.Sprintf("model:m%d", i%2), "", ""))
	}
	list := func(q storage.AuditQuery) string {
		var seqs []string
		for _, e := range must(s.ListAudit(t.Context(), q))(t) {
			seqs = append(seqs, fmt.Sprint(e.Seq))
		}
		return strings.Join(seqs, " ")
	}
	equal(t, "all", "12 11 10 9 8 7 6 5 4 3 2 1", list(storage.AuditQuery{}))
	equal(t, "the newest", "12 11", list(storage.AuditQuery{Limit: 2}))
	equal(t, "the next page", "10 9", list(storage.AuditQuery{Limit: 2, Before: 11}))
	equal(t, "of one object", "12 10 8 6 4 2", list(storage.AuditQuery{Object: "model:m1"}))
	equal(t, "of one principal", "10 7 4 1", list(storage.AuditQuery{Principal: "token:bob"}))
	equal(t, "of both", "7 1", list(storage.AuditQuery{Principal: "token:bob", Object: "model:m0"}))
	equal(t, "of nobody", "", list(storage.AuditQuery{Principal: "token:x\x00"}))
	ok(t, s.VerifyAudit(t.Context()))
}

func testAuthors(t *testing.T, s storage.Store) {
	for _, by := range []inventory.Author{{}, {Principal: " "}, {Claimed: "ann", Reason: "r"}} {
		for name, write := range map[string]func() error{
			"PutModel":    func() error { _, err := s.PutModel(t.Context(), catalog.Model{Name: "m"}, 0, by); return err },
			"DeleteModel": func() error { return s.DeleteModel(t.Context(), "m", 1, by) },
			"PutNodeSettings": func() error {
				_, err := s.PutNodeSettings(t.Context(), inventory.NodeSettings{Node: "n"}, 0, by)
				return err
			},
			"DeleteNode":      func() error { return s.DeleteNode(t.Context(), "n", by) },
			"CreateJoinToken": func() error { return s.CreateJoinToken(t.Context(), inventory.JoinToken{ID: "t", Hash: "h"}, by) },
			"RevokeJoinToken": func() error { return s.RevokeJoinToken(t.Context(), "t", by) },
			"CreateAdminToken": func() error {
				return s.CreateAdminToken(t.Context(), storage.AdminToken{ID: "t", Hash: "h", Role: "owner"}, by)
			},
			"RevokeAdminToken": func() error { return s.RevokeAdminToken(t.Context(), "t", by) },
			"CreateKey":        func() error { return s.CreateKey(t.Context(), storage.Key{ID: "k", Hash: "h"}, by) },
			"RevokeKey":        func() error { return s.RevokeKey(t.Context(), "k", by) },
			"RecordAudit":      func() error { return s.RecordAudit(t.Context(), by, "o", "", "") },
		} {
			t.Run(name, func(t *testing.T) { wantErr(t, storage.ErrAuthor, unnoted(t, s, write)) })
		}
	}
	equal(t, "models", []catalog.Entry{}, must(s.ListModels(t.Context()))(t))
	equal(t, "keys", []storage.Key{}, must(s.ListKeys(t.Context()))(t))
	equal(t, "nodes", []inventory.NodeSettings{}, must(s.ListNodeSettings(t.Context()))(t))
}
