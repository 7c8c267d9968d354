package storagetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// atOnce runs a function many times at once and waits.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// winners runs a call many times at once and returns how many were let through;
// the others must answer an error that matches.
func winners(t *testing.T, n int, others error, call func(i int) error) int {
	t.Helper()
	var won atomic.Int64
	atOnce(n, func(i int) {
		switch err := call(i); {
		case err == nil:
			won.Add(1)
		case !errors.Is(err, others):
			t.Errorf("call %d: want an error that matches %q, got %v", i, others, err)
		}
	})
	return int(won.Load())
}

func testConcurrency(t *testing.T, open Opener) {
	for name, test := range map[string]func(t *testing.T, s storage.Store){
		"one join token lets one node in": testOneJoin,
		"one of many changes is made":     testOneChange,
		"one authority is kept":           testOneAuthority,
		"usage adds up":                   testUsageAtOnce,
		"one leads":                       testOneLeads,
		"close waits":                     testCloseWaits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func testOneJoin(t *testing.T, s storage.Store) {
	ok(t, s.CreateJoinToken(t.Context(), inventory.JoinToken{ID: "t", Hash: "h"}, ann()))
	won := winners(t, 64, storage.ErrUsed, func(i int) error {
		return s.UseJoinToken(t.Context(), storage.TokenUse{ID: "t", Hash: "h", Node: inventory.NodeID(fmt.Sprint("n", i))})
	})
	equal(t, "nodes let in", 1, won)
	equal(t, "nodes known", 1, len(must(s.ListNodeSettings(t.Context()))(t)))
	equal(t, "events", 2, len(audits(t, s)))
}

func testOneChange(t *testing.T, s storage.Store) {
	put := func(expected int64, others error) int {
		return winners(t, 16, others, func(i int) error {
			_, err := s.PutModel(t.Context(), catalog.Model{Name: "m", Owner: fmt.Sprint(i)}, expected, ann())
			return err
		})
	}
	equal(t, "models made", 1, put(0, catalog.ErrExists))
	revision := must(s.ListModels(t.Context()))(t)[0].Revision
	equal(t, "models changed", 1, put(revision, catalog.ErrStale))
	equal(t, "events", 2, len(audits(t, s)))
	ok(t, s.VerifyAudit(t.Context()))
}

func testOneAuthority(t *testing.T, s storage.Store) {
	var got [16]string
	atOnce(len(got), func(i int) {
		cert, key, err := s.Authority(t.Context(), func() ([]byte, []byte, error) {
			return fmt.Appendf(nil, "cert %d", i), fmt.Appendf(nil, "key %d", i), nil
		})
		if err != nil {
			t.Error(err)
		}
		got[i] = string(cert) + " " + string(key)
	})
	for _, g := range got {
		equal(t, "the authority everybody gets", got[0], g)
	}
	equal(t, "events", 1, len(audits(t, s)))
}

// testUsageAtOnce has writers that bring the same rows in different order, as
// two routers do that were cut off and send again.
func testUsageAtOnce(t *testing.T, s storage.Store) {
	const rows, writers = 200, 8
	for i := range 10 {
		ok(t, s.CreateKey(t.Context(), storage.Key{ID: fmt.Sprint("k", i), Hash: "h"}, ann()))
	}
	atOnce(writers, func(w int) {
		var batch []storage.Request
		for i := range rows {
			if w%2 == 1 {
				i = rows - 1 - i
			}
			batch = append(batch, storage.Request{ID: fmt.Sprint("r", i), At: moment(), KeyID: fmt.Sprint("k", i%10), CostMicros: 1, Outcome: storage.OutcomeOK})
			if len(batch) == 7 || len(batch) == rows%7 {
				if err := s.AppendUsage(t.Context(), batch); err != nil {
					t.Error(err)
				}
				batch = nil
			}
		}
		if err := s.AppendUsage(t.Context(), batch); err != nil {
			t.Error(err)
		}
	})
	sum := must(s.SumUsage(t.Context(), storage.UsageQuery{By: storage.ByOrg}))(t)
	if len(sum) != 1 || sum[0].Requests != rows || sum[0].CostMicros != rows || sum[0].Keys != 10 {
		t.Errorf("want %d requests of 10 keys, each once, got %+v", rows, sum)
	}
}

func testOneLeads(t *testing.T, s storage.Store) {
	won := winners(t, 16, storage.ErrHeld, func(i int) error {
		_, err := s.Acquire(t.Context(), fmt.Sprint("control-", i))
		return err
	})
	equal(t, "leaders", 1, won)

	// Leaders that follow each other all write; what stands at the end was
	// written by the last one.
	first := must(s.Lead(0).LoadAssignments(t.Context()))(t)
	equal(t, "assignments", 0, len(first.Replicas))
	var lease storage.Lease
	for i := range 16 {
		if l, err := s.Acquire(t.Context(), fmt.Sprint("control-", i)); err == nil {
			lease = l
		}
	}
	var newest atomic.Int64
	atOnce(8, func(i int) {
		l, err := s.Acquire(t.Context(), lease.Holder)
		if err != nil {
			t.Error(err)
			return
		}
		for e := newest.Load(); l.Epoch > e && !newest.CompareAndSwap(e, l.Epoch); e = newest.Load() {
		}
		a := wholeAssignment("r")
		a.Why = fmt.Sprint(l.Epoch)
		err = s.Lead(l.Epoch).ChangeAssignments(t.Context(), storage.AssignmentChange{Put: []storage.Assignment{a}})
		if err != nil && !errors.Is(err, storage.ErrFenced) {
			t.Errorf("leader %d: %v", i, err)
		}
	})
	got := must(s.Lead(0).LoadAssignments(t.Context()))(t)
	equal(t, "the epoch that wrote last", fmt.Sprint(newest.Load()), got.Replicas[0].Why)
}

func testCloseWaits(t *testing.T, s storage.Store) {
	var written atomic.Int64
	atOnce(9, func(i int) {
		if i == 0 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		for n := range 50 {
			err := s.AppendUsage(t.Context(), []storage.Request{{ID: fmt.Sprint(i, "-", n)}})
			if errors.Is(err, storage.ErrClosed) {
				return
			}
			if err != nil {
				t.Errorf("a call that began before the store was closed: %v", err)
			}
			written.Add(1)
		}
	})
	wantErr(t, storage.ErrClosed, s.Ping(t.Context()))
}
