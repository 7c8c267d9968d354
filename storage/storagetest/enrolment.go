package storagetest

import (
	"errors"
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

func testEnrolment(t *testing.T, open Opener) {
	t.Run("authority", func(t *testing.T) {
		t.Parallel()
		testAuthority(t, open(t))
	})
	t.Run("certificates", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		c := inventory.Certificate{Serial: "1", Node: "n", IssuedAt: moment(), ExpiresAt: moment().Add(24 * time.Hour)}
		e := noted(t, s, func() error { return s.KeepCertificate(t.Context(), c) })
		equal(t, "who asked for it", "node:n", e.Principal)
		ok(t, unnoted(t, s, func() error { return s.KeepCertificate(t.Context(), c) }))
		wantErr(t, storage.ErrInvalid, unnoted(t, s, func() error {
			return s.KeepCertificate(t.Context(), inventory.Certificate{Node: "n"})
		}))
	})
	t.Run("use of a token", func(t *testing.T) {
		t.Parallel()
		testUseJoinToken(t, open(t))
	})
}

func testAuthority(t *testing.T, s storage.Store) {
	broken := errors.New("no randomness")
	_, _, err := s.Authority(t.Context(), func() ([]byte, []byte, error) { return nil, nil, broken })
	wantErr(t, broken, err)

	var cert, key []byte
	e := noted(t, s, func() (err error) {
		cert, key, err = s.Authority(t.Context(), func() ([]byte, []byte, error) { return []byte("cert"), []byte("key-secret"), nil })
		return err
	})
	equal(t, "who made it", "system:enrolment", e.Principal)
	equal(t, "the authority made", "cert key-secret", string(cert)+" "+string(key))
	ok(t, unnoted(t, s, func() (err error) {
		cert, key, err = s.Authority(t.Context(), func() ([]byte, []byte, error) { return nil, nil, errors.New("made twice") })
		return err
	}))
	equal(t, "the authority kept", "cert key-secret", string(cert)+" "+string(key))
	noSecrets(t, s, "key-secret")
}

func testUseJoinToken(t *testing.T, s storage.Store) {
	now := moment()
	token := inventory.JoinToken{ID: "t1", Hash: "hash-secret", CreatedBy: "token:ann", CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	ok(t, s.CreateJoinToken(t.Context(), token, ann()))
	other := token
	other.ID = "t2"
	ok(t, s.CreateJoinToken(t.Context(), other, ann()))
	use := func(id, hash string, at time.Time) func() error {
		return func() error {
			return s.UseJoinToken(t.Context(), storage.TokenUse{ID: id, Hash: hash, Node: "n", At: at})
		}
	}
	wantErr(t, storage.ErrNotFound, unnoted(t, s, use("t9", "hash-secret", now)))
	wantErr(t, storage.ErrNotFound, unnoted(t, s, use("t1", "other", now)))
	wantErr(t, storage.ErrNotFound, unnoted(t, s, use("t1\x00", "hash-secret", now)))
	wantErr(t, storage.ErrExpired, unnoted(t, s, use("t1", "hash-secret", now.Add(time.Hour))))
	equal(t, "nodes that were refused", []inventory.NodeSettings{}, must(s.ListNodeSettings(t.Context()))(t))

	e := noted(t, s, use("t1", "hash-secret", now.Add(time.Hour-1)))
	equal(t, "who joined", [3]string{"join:t1", "nodes.join", "node:n"}, [3]string{e.Principal, e.Action, e.Object})
	wantErr(t, storage.ErrUsed, unnoted(t, s, use("t1", "hash-secret", now)))
	known := must(s.ListNodeSettings(t.Context()))(t)
	if len(known) != 1 || known[0].Node != "n" || known[0].Revision < 1 {
		t.Fatalf("want n to be known at some revision, got %+v", known)
	}
	list := must(s.ListJoinTokens(t.Context()))(t)
	if len(list) != 2 || list[0].UsedBy != "n" || !list[0].UsedAt.Equal(now.Add(time.Hour-1)) {
		t.Errorf("want t1 used by n, got %+v", list)
	}

	// A node that joins anew keeps what people set on it, and what it was given
	// before ends.
	equal(t, "revocations of a node that joined once", []inventory.Revocation{}, must(s.Revocations(t.Context()))(t))
	known[0].Wish = inventory.WishCordoned
	kept := must(s.PutNodeSettings(t.Context(), known[0], known[0].Revision, ann()))(t)
	ok(t, use("t2", "hash-secret", now)())
	equal(t, "settings of a node that joined again", []inventory.NodeSettings{kept}, must(s.ListNodeSettings(t.Context()))(t))
	anew := []inventory.Revocation{{Node: "n", At: now}}
	equal(t, "revocations of one that joined again", anew, must(s.Revocations(t.Context()))(t))
	third := token
	third.ID = "t3"
	ok(t, s.CreateJoinToken(t.Context(), third, ann()))
	ok(t, use("t3", "hash-secret", now.Add(-time.Minute))())
	equal(t, "revocations by a clock that was set back", anew, must(s.Revocations(t.Context()))(t))
	noSecrets(t, s, "hash-secret")
}

func testJoinTokens(t *testing.T, open Opener) {
	s := open(t)
	token := inventory.JoinToken{ID: "old", Hash: "hash-secret", CreatedBy: "token:ann", CreatedAt: moment(), ExpiresAt: moment().Add(time.Hour)}
	create := func() error { return s.CreateJoinToken(t.Context(), token, ann()) }
	e := noted(t, s, create)
	equal(t, "what was made", [2]string{"tokens.join.create", "join-token:old"}, [2]string{e.Action, e.Object})
	wantErr(t, storage.ErrExists, unnoted(t, s, create))
	wantErr(t, storage.ErrInvalid, unnoted(t, s, func() error {
		return s.CreateJoinToken(t.Context(), inventory.JoinToken{ID: "x"}, ann())
	}))
	ok(t, s.CreateJoinToken(t.Context(), inventory.JoinToken{ID: "new", Hash: "h"}, ann()))

	list := must(s.ListJoinTokens(t.Context()))(t)
	if len(list) != 2 || list[0].ID != "new" {
		t.Fatalf("want two tokens, the newest first, got %+v", list)
	}
	recent(t, "made at", list[0].CreatedAt)
	want := token
	want.CreatedAt, want.ExpiresAt = token.CreatedAt.UTC(), token.ExpiresAt.UTC()
	equal(t, "the token kept", want, list[1])

	revoke := func(id string) func() error {
		return func() error { return s.RevokeJoinToken(t.Context(), id, ann()) }
	}
	e = noted(t, s, revoke("old"))
	equal(t, "what was revoked", [2]string{"tokens.join.revoke", "join-token:old"}, [2]string{e.Action, e.Object})
	ok(t, unnoted(t, s, revoke("old")))
	wantErr(t, storage.ErrNotFound, unnoted(t, s, revoke("none")))
	if list := must(s.ListJoinTokens(t.Context()))(t); len(list) != 1 || list[0].ID != "new" {
		t.Errorf("want the revoked token gone, got %+v", list)
	}
	wantErr(t, storage.ErrNotFound, s.UseJoinToken(t.Context(), storage.TokenUse{ID: "old", Hash: "hash-secret", Node: "n", At: moment()}))
	noSecrets(t, s, "hash-secret")
}
