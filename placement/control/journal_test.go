package control_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/control"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/placement/replay"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/memstore"
)

// brittle is a journal that can be made to hang, to fail or to panic.
type brittle struct {
	memstore.Journal
	how  atomic.Pointer[func() error]
	seen atomic.Int64
}

func (b *brittle) AppendJournal(ctx context.Context, e storage.JournalEntry) error {
	b.seen.Add(1)
	if how := b.how.Load(); how != nil {
		if err := (*how)(); err != nil {
			return err
		}
	}
	return b.Journal.AppendJournal(ctx, e)
}

func entriesOf(j storage.Journal) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for e, err := range j.ReadJournal(context.Background(), time.Time{}) {
			if !yield(e.Data, err) {
				return
			}
		}
	}
}

func replayed(t *testing.T, j storage.Journal) replay.Report {
	t.Helper()
	r := replay.Run(entriesOf(j), reconciler.Reconciler{})
	if r.Differing > 0 || r.Unread > 0 {
		t.Errorf("want the same decided again, got %s", r)
	}
	return r
}

// TestJournal writes down what was placed, kept and lost to a store that was away,
// and decides all of it again.
func TestJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m, j := newStore(), newModels(), &memstore.Journal{}
		r := start(t, "one", s, m, twoNodes, nil, func(c *control.Config) { c.Journal = j })
		after(time.Second)
		m.set(model("tiny", 1))
		after(time.Second)
		r.say("a1", "tiny-1.0", inventory.ShardReady)
		after(time.Second)
		s.set(func() {
			s.fail = func(method string) error {
				if strings.Contains(method, "change") {
					return errors.New("away")
				}
				return nil
			}
		})
		m.set(model("tiny", 2))
		after(time.Second)
		s.set(func() { s.fail = nil })
		after(time.Minute)
		r.stop()
		report := replayed(t, j)
		if report.Passes < 4 || report.Passes > 12 || report.Decisions < 4 {
			t.Errorf("want the passes in which something happened, got %s", report)
		}
		outcomes := map[string]int{}
		for data := range entriesOf(j) {
			for _, o := range []replay.Outcome{replay.Kept, replay.Failed} {
				if strings.Contains(string(data), `"outcome":"`+string(o)+`"`) {
					outcomes[string(o)]++
				}
			}
		}
		if outcomes["failed"] == 0 || outcomes["kept"] == 0 {
			t.Errorf("want what became of them, got %v", outcomes)
		}
	})
}

// TestJournalOfWhatWasStale writes down what was decided on a fleet that changed
// meanwhile.
func TestJournalOfWhatWasStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, j, f := newModels(), &memstore.Journal{}, &recorder{}
		var registry *inventory.Registry
		f.reserve = func(n int) {
			facts := registry.Snapshot().Node("a1").Facts
			facts.Kernel = strings.Repeat("x", n)
			registry.Apply("a1", inventory.Report{Facts: &facts}, time.Now())
		}
		r := start(t, "one", newStore(), m, twoNodes, f.wrap, func(c *control.Config) { c.Journal = j })
		registry = r.registry
		after(time.Second)
		m.set(model("tiny", 1))
		synctest.Wait()
		r.stop()
		stale := 0
		for data := range entriesOf(j) {
			if strings.Contains(string(data), `"outcome":"stale"`) {
				stale++
			}
		}
		if stale != 1 {
			t.Errorf("want one pass whose plan was stale, got %d", stale)
		}
		replayed(t, j)
	})
}

// TestJournalThatHangs goes on deciding while the journal takes nothing, counts
// what it left out, and writes again afterwards.
func TestJournalThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m, j := newStore(), newModels(), &brittle{}
		free := make(chan struct{})
		hang := func() error { <-free; return nil }
		j.how.Store(&hang)
		r := start(t, "one", s, m, twoNodes, nil, func(c *control.Config) { c.Journal = j })
		m.set(model("tiny", 1))
		after(10 * time.Minute)
		if got := s.ids(); len(got) != 1 {
			t.Errorf("want the model placed though the journal hangs, got %v", got)
		}
		close(free)
		after(2 * time.Minute)
		r.stop()
		if report := replayed(t, j); report.Missed == 0 {
			t.Errorf("want those counted that found no place, got %s", report)
		}
	})
}

// TestJournalThatFails begins with a base again a minute later.
func TestJournalThatFails(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func() error{
		"error": func() error { return storage.ErrFull },
		"panic": func() error { panic("a bug") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, m, j := newStore(), newModels(), &brittle{}
				r := start(t, "one", s, m, twoNodes, nil, func(c *control.Config) { c.Journal = j })
				after(time.Second)
				j.how.Store(&how)
				m.set(model("tiny", 1))
				after(30 * time.Second)
				if got, seen := s.ids(), j.seen.Load(); len(got) != 1 || seen > 3 {
					t.Errorf("want the model placed, and the journal left alone for a while, got %v and %d appends", got, seen)
				}
				j.how.Store(nil)
				after(2 * time.Minute)
				r.stop()
				report := replayed(t, j)
				bases := 0
				for e := range j.ReadJournal(t.Context(), time.Time{}) {
					if e.Kind == storage.JournalBase {
						bases++
					}
				}
				if bases != 2 || report.Missed == 0 {
					t.Errorf("want another base and what was missed, got %d bases and %s", bases, report)
				}
			})
		})
	}
}
