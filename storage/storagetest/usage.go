package storagetest

import (
	"fmt"
	"testing"
	"time"

	"llmgw.io/llmgw/storage"
)

func wholeRequest(id string) storage.Request {
	return storage.Request{
		ID: id, At: moment(), KeyID: "k", UserID: "u", ProjectID: storage.DefaultProject, Model: "alias", ServedModel: "m", Replica: "m-1",
		Endpoint: "chat", Stream: true, Status: 200, Outcome: storage.OutcomeOK, Latency: 3 * time.Second, Queued: 1, FirstByte: 2,
		PromptTokens: 1 << 40, CachedTokens: 5, CompletionTokens: 6, Estimated: true, CostMicros: 1 << 50,
		Attempts: []storage.Attempt{{Replica: "m-0", Status: 503, Error: "busy"}, {Replica: "m-1"}},
		EndUser:  "jürgen", Tags: map[string]string{"job": "夜"},
	}
}

func testUsage(t *testing.T, open Opener) {
	t.Run("round trip", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		ok(t, s.AppendUsage(t.Context(), []storage.Request{wholeRequest("r1"), {ID: "r2"}}))
		want := wholeRequest("r1")
		want.At = want.At.UTC()
		equal(t, "the record kept", want, must(s.Request(t.Context(), "r1"))(t))
		bare := must(s.Request(t.Context(), "r2"))(t)
		recent(t, "the time of a record that names none", bare.At)
		bare.At = time.Time{}
		equal(t, "the record of a request without anything", storage.Request{ID: "r2", ProjectID: storage.DefaultProject}, bare)
		for _, id := range []string{"", "r3", "r\x00"} {
			_, err := s.Request(t.Context(), id)
			wantErr(t, storage.ErrNotFound, err)
		}
	})
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		testUsageOnce(t, open(t))
	})
	t.Run("sums", func(t *testing.T) {
		t.Parallel()
		testUsageSums(t, open(t))
	})
	t.Run("keys know their last use", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		ok(t, s.CreateKey(t.Context(), storage.Key{ID: "k", Hash: "h"}, ann()))
		later, earlier := wholeRequest("r1"), wholeRequest("r2")
		earlier.At = earlier.At.Add(-time.Hour)
		ok(t, s.AppendUsage(t.Context(), []storage.Request{later}))
		ok(t, s.AppendUsage(t.Context(), []storage.Request{earlier}))
		equal(t, "last use", later.At.UTC(), must(s.Key(t.Context(), "k"))(t).LastUsed)
	})
}

func testUsageOnce(t *testing.T, s storage.Store) {
	first := wholeRequest("r")
	again := first
	again.CostMicros = 1
	rows := []storage.Request{first, again}
	for i := range 1500 {
		r := wholeRequest(fmt.Sprintf("batch-%d", i))
		r.CostMicros = 2
		rows = append(rows, r)
	}
	for range 3 {
		ok(t, unnoted(t, s, func() error { return s.AppendUsage(t.Context(), rows) }))
	}
	equal(t, "the row that was there first", first.CostMicros, must(s.Request(t.Context(), "r"))(t).CostMicros)
	for _, i := range []int{0, 749, 1499} {
		want := wholeRequest(fmt.Sprintf("batch-%d", i))
		want.CostMicros, want.At = 2, want.At.UTC()
		equal(t, "a row of a batch", want, must(s.Request(t.Context(), want.ID))(t))
	}
	sum := must(s.SumUsage(t.Context(), storage.UsageQuery{By: storage.ByOrg}))(t)
	if len(sum) != 1 || sum[0].Requests != 1501 || sum[0].CostMicros != first.CostMicros+3000 {
		t.Errorf("want each request counted once, got %+v", sum)
	}
	// A batch with a row that cannot be kept is refused whole.
	wantErr(t, storage.ErrInvalid, s.AppendUsage(t.Context(), []storage.Request{wholeRequest("good"), {}}))
	_, err := s.Request(t.Context(), "good")
	wantErr(t, storage.ErrNotFound, err)
	ok(t, s.AppendUsage(t.Context(), nil))
}

func testUsageSums(t *testing.T, s storage.Store) {
	for _, by := range storage.Levels {
		equal(t, "sums of nothing by "+string(by), []storage.UsageSum{}, must(s.SumUsage(t.Context(), storage.UsageQuery{By: by}))(t))
	}
	_, err := s.SumUsage(t.Context(), storage.UsageQuery{By: "moon"})
	wantErr(t, storage.ErrInvalid, err)

	ok(t, s.CreateKey(t.Context(), storage.Key{ID: "k1", Name: "first", Hash: "h"}, ann()))
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	row := func(id, key, user string, o storage.Outcome, minutes int) storage.Request {
		return storage.Request{
			ID: id, At: at.Add(time.Duration(minutes) * time.Minute), KeyID: key, UserID: user, Model: "asked", ServedModel: "m", Outcome: o,
			PromptTokens: 10, CompletionTokens: 1, CostMicros: 100,
		}
	}
	refused := row("4", "", "", storage.OutcomeRefused, 3)
	refused.ServedModel = ""
	elsewhere := row("5", "k2", "u", storage.OutcomeUpstreamAborted, 4)
	elsewhere.ProjectID = "gone"
	ok(t, s.AppendUsage(t.Context(), []storage.Request{
		row("1", "k1", "u", storage.OutcomeOK, 0), row("2", "k1", "", storage.OutcomeCancelled, 1), row("3", "k2", "u", storage.OutcomeUpstreamError, 2),
		refused, elsewhere,
	}))
	sum := func(by storage.Level, id, name string, keys int, n, errs int64, last int) storage.UsageSum {
		return storage.UsageSum{
			Scope: by, ID: id, Name: name, Keys: keys, Requests: n, PromptTokens: 10 * n, CompletionTokens: n, CostMicros: 100 * n,
			Errors: errs, LastAt: at.Add(time.Duration(last) * time.Minute),
		}
	}
	for by, want := range map[storage.Level][]storage.UsageSum{
		storage.ByOrg:     {sum(storage.ByOrg, "", "", 1, 1, 1, 4), sum(storage.ByOrg, "default", "default", 2, 4, 2, 3)},
		storage.ByTeam:    {sum(storage.ByTeam, "", "", 1, 1, 1, 4), sum(storage.ByTeam, "default", "default", 2, 4, 2, 3)},
		storage.ByProject: {sum(storage.ByProject, "default", "default", 2, 4, 2, 3), sum(storage.ByProject, "gone", "", 1, 1, 1, 4)},
		storage.ByUser:    {sum(storage.ByUser, "", "", 1, 2, 1, 3), sum(storage.ByUser, "u", "", 2, 3, 2, 4)},
		storage.ByKey: {
			sum(storage.ByKey, "", "", 0, 1, 1, 3), sum(storage.ByKey, "k1", "first", 1, 2, 0, 1), sum(storage.ByKey, "k2", "", 1, 2, 2, 4),
		},
		storage.ByModel: {sum(storage.ByModel, "asked", "asked", 0, 1, 1, 3), sum(storage.ByModel, "m", "m", 2, 4, 2, 4)},
	} {
		equal(t, "sums by "+string(by), want, must(s.SumUsage(t.Context(), storage.UsageQuery{By: by}))(t))
	}
	since := storage.UsageQuery{By: storage.ByProject, Since: at.Add(2 * time.Minute).In(time.FixedZone("west", -5*3600))}
	equal(t, "sums since a time", []storage.UsageSum{
		sum(storage.ByProject, "default", "default", 1, 2, 2, 3), sum(storage.ByProject, "gone", "", 1, 1, 1, 4),
	}, must(s.SumUsage(t.Context(), since))(t))
}
