package control

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/placement/replay"
	"llmgw.io/llmgw/storage"
)

const (
	// scribeQueue is how many passes may wait to be written down. A pass that finds
	// no place is left out: the loop waits for no disk.
	scribeQueue = 64
	// scribeRetry is how long nothing is written down after the journal failed.
	scribeRetry = time.Minute
)

// scribe writes the passes of one reign down, beside the loop. Passes are made of
// what is never changed again, so both may look at one.
type scribe struct {
	journal storage.Journal
	log     *slog.Logger
	passes  chan replay.Pass
	done    chan struct{}
	// missed are passes that decided something and were not written down, since the
	// last that was. What others looked at, the next pass has too.
	missed atomic.Int64

	// The rest is the writing goroutine's.
	encoder replay.Encoder
	failed  bool
	retryAt time.Time
}

// newScribe begins to write; nil where there is no journal, which notes nothing.
func newScribe(ctx context.Context, journal storage.Journal, log *slog.Logger) *scribe {
	if journal == nil {
		return nil
	}
	s := &scribe{
		journal: journal, log: log, passes: make(chan replay.Pass, scribeQueue), done: make(chan struct{}),
		encoder: replay.Encoder{Redact: storage.Redact},
	}
	go s.run(context.WithoutCancel(ctx))
	return s
}

// note hands a pass over. It never blocks.
func (s *scribe) note(p replay.Pass) {
	if s == nil {
		return
	}
	select {
	case s.passes <- p:
	default:
		s.miss(&p)
	}
}

func (s *scribe) miss(p *replay.Pass) {
	if len(p.Plan.Actions)+len(p.Plan.Events)+p.Plan.OrdersDone > 0 || p.Outcome != replay.Kept {
		s.missed.Add(1)
	}
}

// stop writes what waits, for a while, and ends.
func (s *scribe) stop() {
	if s == nil {
		return
	}
	close(s.passes)
	t := time.NewTimer(releaseTimeout)
	defer t.Stop()
	select {
	case <-s.done:
	case <-t.C:
		s.log.Warn("the journal did not take the last decisions in time; they are left out")
	}
}

func (s *scribe) run(ctx context.Context) {
	defer close(s.done)
	for p := range s.passes {
		if time.Now().Before(s.retryAt) {
			s.miss(&p)
			continue
		}
		if err := s.write(ctx, p); err != nil {
			s.miss(&p)
			s.fail(err)
		}
	}
}

// write keeps a pass, if there is anything to keep. A panic is one of our own and
// must not take the control plane along.
func (s *scribe) write(ctx context.Context, p replay.Pass) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("it panicked, which is a bug of llmgw: %v\n%s", broken, debug.Stack())
		}
	}()
	missed := s.missed.Swap(0)
	p.Missed = int(missed)
	e, worth, err := s.encoder.Encode(p)
	if err == nil && worth {
		err = s.append(ctx, e)
	}
	if err != nil {
		s.missed.Add(missed)
		return err
	}
	if s.failed {
		s.failed = false
		s.log.Info("the journal is written again")
	}
	if missed > 0 {
		s.log.Warn("the journal could not follow; decisions are missing in it", "missed", missed)
	}
	return nil
}

func (s *scribe) append(ctx context.Context, e replay.Entry) error {
	kind := storage.JournalChange
	if e.Base {
		kind = storage.JournalBase
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.journal.AppendJournal(ctx, storage.JournalEntry{At: e.At, Epoch: e.Epoch, Kind: kind, Data: e.Data})
}

// fail says once that the journal fails, and lets it rest.
func (s *scribe) fail(err error) {
	s.encoder.Reset()
	s.retryAt = time.Now().Add(scribeRetry)
	if !s.failed {
		s.log.Warn("why decisions are made is not written down for now; trying again every minute", "err", err)
	}
	s.failed = true
}

// note writes down what a pass looked at, what it decided and what became of it.
func (r *reign) note(w reconciler.World, plan reconciler.Plan, after reconciler.Memory, outcome replay.Outcome) {
	r.scribe.note(replay.Pass{
		Epoch: r.epoch, World: w, Memory: r.memory, Plan: plan, After: after, Outcome: outcome, Moves: r.l.cfg.Moves,
	})
}
