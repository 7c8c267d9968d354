package storagetest

import (
	"context"
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// rackHold is planned work on a rack.
func rackHold() inventory.Hold {
	return inventory.Hold{
		Domain: inventory.Domain{Level: inventory.LevelRack, Name: "r12-07 ä"}, Reason: "PDU swap", By: "ann",
		Since: moment(), From: moment().Add(time.Hour), Until: moment().Add(2 * time.Hour),
	}
}

func holdCalls(s storage.Store) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"ListHolds":  func(ctx context.Context) error { _, err := s.ListHolds(ctx); return err },
		"PutHold":    func(ctx context.Context) error { return s.PutHold(ctx, rackHold(), ann()) },
		"DeleteHold": func(ctx context.Context) error { return s.DeleteHold(ctx, rackHold().Domain, ann()) },
	}
}

func testHolds(t *testing.T, open Opener) {
	t.Run("round trip", func(t *testing.T) {
		t.Parallel()
		testHoldRoundTrip(t, open(t))
	})
	t.Run("delete", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		h := rackHold()
		ok(t, unnoted(t, s, func() error { return s.DeleteHold(t.Context(), h.Domain, ann()) }))
		ok(t, s.PutHold(t.Context(), h, ann()))
		e := noted(t, s, func() error { return s.DeleteHold(t.Context(), h.Domain, ann()) })
		equal(t, "what was released", [2]string{"holds.delete", "hold:rack:r12-07 ä"}, [2]string{e.Action, e.Object})
		ok(t, unnoted(t, s, func() error { return s.DeleteHold(t.Context(), h.Domain, ann()) }))
		equal(t, "holds", []inventory.Hold{}, must(s.ListHolds(t.Context()))(t))
	})
	t.Run("needs a domain", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		for _, d := range []inventory.Domain{{}, {Level: "shelf", Name: "1"}, {Level: inventory.LevelRack, Name: "\xff"}} {
			wantErr(t, storage.ErrInvalid, unnoted(t, s, func() error {
				return s.PutHold(t.Context(), inventory.Hold{Domain: d}, ann())
			}))
		}
	})
}

func testHoldRoundTrip(t *testing.T, s storage.Store) {
	equal(t, "holds of an empty store", []inventory.Hold{}, must(s.ListHolds(t.Context()))(t))
	h := rackHold()
	first := noted(t, s, func() error { return s.PutHold(t.Context(), h, ann()) })
	equal(t, "what was held", [3]string{"holds.put", "hold:rack:r12-07 ä", ""}, [3]string{first.Action, first.Object, first.Before})
	site := inventory.Hold{Domain: inventory.Domain{Level: inventory.LevelPDU, Name: "a"}, By: "bob", Since: moment()}
	ok(t, s.PutHold(t.Context(), site, ann()))
	h.Reason, h.Until = "", time.Time{}
	second := noted(t, s, func() error { return s.PutHold(t.Context(), h, ann()) })
	equal(t, "what was held before", first.After, second.Before)

	list := must(s.ListHolds(t.Context()))(t)
	equal(t, "the holds listed", []inventory.Hold{site, h}, list)
	if at := list[1].From; at.Location() != time.UTC || !list[1].Until.IsZero() {
		t.Errorf("want times in UTC and no end, got %v and %v", at, list[1].Until)
	}
	ok(t, s.VerifyAudit(t.Context()))
}
