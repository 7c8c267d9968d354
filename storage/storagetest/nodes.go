package storagetest

import (
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

func testNodes(t *testing.T, open Opener) {
	t.Run("round trip", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		n := inventory.NodeSettings{
			Node: "b", Wish: inventory.WishCordoned, Labels: map[string]string{"llmgw.io/rack": "ä"}, EngineBuilds: map[string]string{"vllm": "cu129"},
		}
		put := must(s.PutNodeSettings(t.Context(), n, 0, ann()))(t)
		must(s.PutNodeSettings(t.Context(), inventory.NodeSettings{Node: "a"}, 0, ann()))(t)
		n.Revision = put.Revision
		equal(t, "the settings put", n, put)
		list := must(s.ListNodeSettings(t.Context()))(t)
		if len(list) != 2 || list[0].Node != "a" || list[0].Labels != nil {
			t.Fatalf("want a without labels, and b, got %+v", list)
		}
		equal(t, "the settings listed", n, list[1])
	})
	t.Run("revisions", func(t *testing.T) {
		t.Parallel()
		testNodeRevisions(t, open(t))
	})
	t.Run("delete", func(t *testing.T) {
		t.Parallel()
		testDeleteNode(t, open(t))
	})
	t.Run("needs an id", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		wantErr(t, storage.ErrInvalid, unnoted(t, s, func() error {
			_, err := s.PutNodeSettings(t.Context(), inventory.NodeSettings{}, 0, ann())
			return err
		}))
	})
}

func testNodeRevisions(t *testing.T, s storage.Store) {
	var put inventory.NodeSettings
	write := func(w inventory.Wish, expected int64) func() error {
		return func() (err error) {
			got, err := s.PutNodeSettings(t.Context(), inventory.NodeSettings{Node: "n", Wish: w}, expected, ann())
			if err == nil {
				put = got
			}
			return err
		}
	}
	wantErr(t, inventory.ErrStale, unnoted(t, s, write("", 3)))
	made := noted(t, s, write("", 0))
	equal(t, "what was changed", "node:n", made.Object)
	first := put.Revision
	wantErr(t, inventory.ErrStale, unnoted(t, s, write("", 0)))
	e := noted(t, s, write(inventory.WishDraining, first))
	equal(t, "before and after", [3]string{"nodes.put", made.After, e.After}, [3]string{e.Action, e.Before, e.After})
	wantErr(t, inventory.ErrStale, unnoted(t, s, write("", first)))
	ok(t, s.DeleteNode(t.Context(), "n", ann()))
	ok(t, write("", 0)())
	wantErr(t, inventory.ErrStale, unnoted(t, s, write("", first)))
}

func testDeleteNode(t *testing.T, s storage.Store) {
	must(s.PutNodeSettings(t.Context(), inventory.NodeSettings{Node: "n"}, 0, ann()))(t)
	ok(t, s.KeepCertificate(t.Context(), inventory.Certificate{Serial: "1", Node: "n", IssuedAt: moment(), ExpiresAt: moment()}))
	equal(t, "revocations before", []inventory.Revocation{}, must(s.Revocations(t.Context()))(t))

	e := noted(t, s, func() error { return s.DeleteNode(t.Context(), "n", ann()) })
	equal(t, "what was removed", [2]string{"nodes.delete", "node:n"}, [2]string{e.Action, e.Object})
	if e.Before == "" || e.After == "" {
		t.Errorf("want the settings that were and the time of the revocation, got %q and %q", e.Before, e.After)
	}
	equal(t, "known nodes", []inventory.NodeSettings{}, must(s.ListNodeSettings(t.Context()))(t))
	first := must(s.Revocations(t.Context()))(t)
	if len(first) != 1 || first[0].Node != "n" {
		t.Fatalf("want one revocation of n, got %v", first)
	}
	recent(t, "revoked at", first[0].At)

	ok(t, unnoted(t, s, func() error { return s.DeleteNode(t.Context(), "n", ann()) }))
	ok(t, unnoted(t, s, func() error { return s.DeleteNode(t.Context(), "never-there", ann()) }))
	equal(t, "revocations after repeats", first, must(s.Revocations(t.Context()))(t))

	// One that joined again and is put out again, known by its certificate
	// alone, is revoked anew.
	ok(t, s.KeepCertificate(t.Context(), inventory.Certificate{Serial: "2", Node: "n"}))
	noted(t, s, func() error { return s.DeleteNode(t.Context(), "n", ann()) })
	if again := must(s.Revocations(t.Context()))(t); len(again) != 1 || again[0].At.Before(first[0].At) {
		t.Errorf("want one revocation, not before %v, got %v", first[0].At, again)
	}
}
