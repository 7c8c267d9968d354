package storagetest

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"llmgw.io/llmgw/storage"
)

func testKeys(t *testing.T, open Opener) {
	t.Run("round trip", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		k := storage.Key{
			ID: "bbb", Name: "naïve ☂", Project: storage.DefaultProject, User: "u", Hash: "hash-secret", CreatedAt: moment(), ExpiresAt: moment().Add(time.Hour),
			Models: []string{"a", "b"}, CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")},
		}
		e := noted(t, s, func() error { return s.CreateKey(t.Context(), k, ann()) })
		equal(t, "what was made", [2]string{"keys.create", "key:bbb"}, [2]string{e.Action, e.Object})
		wantErr(t, storage.ErrExists, unnoted(t, s, func() error { return s.CreateKey(t.Context(), k, ann()) }))
		k.CreatedAt, k.ExpiresAt = k.CreatedAt.UTC(), k.ExpiresAt.UTC()
		if diff := cmp.Diff(k, must(s.Key(t.Context(), "bbb"))(t), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
			t.Errorf("the key kept (- want, + got):\n%s", diff)
		}
		noSecrets(t, s, "hash-secret")
	})
	t.Run("nil is not empty", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		ok(t, s.CreateKey(t.Context(), storage.Key{ID: "nil", Hash: "h"}, ann()))
		ok(t, s.CreateKey(t.Context(), storage.Key{ID: "empty", Hash: "h", Models: []string{}, CIDRs: []netip.Prefix{}}, ann()))
		all := must(s.Key(t.Context(), "nil"))(t)
		none := must(s.Key(t.Context(), "empty"))(t)
		if !all.Allows("m") || none.Allows("m") || !all.AllowsAddr(netip.IPv6Loopback()) || none.AllowsAddr(netip.IPv6Loopback()) {
			t.Errorf("want nil to allow everything and empty nothing, got %+v and %+v", all, none)
		}
		equal(t, "the project of a key that names none", storage.DefaultProject, all.Project)
		recent(t, "made at", all.CreatedAt)
		list := must(s.ListKeys(t.Context()))(t)
		if len(list) != 2 || list[0].ID != "empty" {
			t.Errorf("want two keys ordered by id, got %+v", list)
		}
	})
	t.Run("revoke", func(t *testing.T) {
		t.Parallel()
		testRevokeKey(t, open(t))
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		for want, k := range map[error]storage.Key{
			storage.ErrInvalid:  {ID: "x"},
			storage.ErrNotFound: {ID: "x", Hash: "h", Project: "nowhere"},
		} {
			wantErr(t, want, unnoted(t, s, func() error { return s.CreateKey(t.Context(), k, ann()) }))
		}
		for _, id := range []string{"", "x", "x\x00y", "\xff", "'; --"} {
			_, err := s.Key(t.Context(), id)
			wantErr(t, storage.ErrNotFound, err)
		}
	})
}

func testRevokeKey(t *testing.T, s storage.Store) {
	ok(t, s.CreateKey(t.Context(), storage.Key{ID: "k", Hash: "h"}, ann()))
	revoke := func(id string) func() error {
		return func() error { return s.RevokeKey(t.Context(), id, ann()) }
	}
	e := noted(t, s, revoke("k"))
	if e.Action != "keys.revoke" || strings.Contains(e.Before, "revoked_at") || !strings.Contains(e.After, "revoked_at") {
		t.Errorf("want the revocation noted, got %+v", e)
	}
	first := must(s.Key(t.Context(), "k"))(t)
	recent(t, "revoked at", first.RevokedAt)
	ok(t, unnoted(t, s, revoke("k")))
	equal(t, "the time after a repeat", first.RevokedAt, must(s.Key(t.Context(), "k"))(t).RevokedAt)
	wantErr(t, storage.ErrNotFound, unnoted(t, s, revoke("none")))
	if list := must(s.ListKeys(t.Context()))(t); len(list) != 1 {
		t.Errorf("want revoked keys listed, got %+v", list)
	}
}

func testAdminTokens(t *testing.T, open Opener) {
	s := open(t)
	token := storage.AdminToken{
		ID: "old", Name: "ops", Role: storage.RoleOperator, Hash: "hash-secret", CreatedBy: "token:ann", CreatedAt: moment(), ExpiresAt: moment().Add(time.Hour),
	}
	create := func() error { return s.CreateAdminToken(t.Context(), token, ann()) }
	e := noted(t, s, create)
	equal(t, "what was made", [2]string{"tokens.admin.create", "admin-token:old"}, [2]string{e.Action, e.Object})
	wantErr(t, storage.ErrExists, unnoted(t, s, create))
	wantErr(t, storage.ErrInvalid, unnoted(t, s, func() error {
		return s.CreateAdminToken(t.Context(), storage.AdminToken{ID: "x", Hash: "h", Role: "king"}, ann())
	}))
	ok(t, s.CreateAdminToken(t.Context(), storage.AdminToken{ID: "new", Hash: "h", Role: storage.RoleOwner}, ann()))
	token.CreatedAt, token.ExpiresAt = token.CreatedAt.UTC(), token.ExpiresAt.UTC()
	equal(t, "the token kept", token, must(s.AdminToken(t.Context(), "old"))(t))

	revoke := func(id string) func() error {
		return func() error { return s.RevokeAdminToken(t.Context(), id, ann()) }
	}
	noted(t, s, revoke("old"))
	ok(t, unnoted(t, s, revoke("old")))
	wantErr(t, storage.ErrNotFound, unnoted(t, s, revoke("none")))
	recent(t, "revoked at", must(s.AdminToken(t.Context(), "old"))(t).RevokedAt)
	list := must(s.ListAdminTokens(t.Context()))(t)
	if len(list) != 2 || list[0].ID != "new" {
		t.Errorf("want both tokens, the newest first, got %+v", list)
	}
	for _, id := range []string{"", "none", "x\x00"} {
		_, err := s.AdminToken(t.Context(), id)
		wantErr(t, storage.ErrNotFound, err)
	}
	noSecrets(t, s, "hash-secret")
}
