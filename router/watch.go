package router

import (
	"context"
	"sync"
	"time"
)

// watch ends an attempt that runs into a limit, and has a silent stream's client
// hear a comment. It has one timer, and progress costs no more than taking a
// note: the timer looks at the note when it fires.
type watch struct {
	cancel context.CancelCauseFunc
	end    time.Time // of the whole answer
	beat   func(now time.Time) time.Duration

	mu    sync.Mutex
	timer *time.Timer
	heard time.Time     // of the last progress
	limit time.Duration // how long there may be none
	cause error         // what it is called when there is none
	next  time.Time     // when a comment may be due; zero: no comments
	over  bool
	why   error // what it ended the attempt for; nil: it did not
}

func newWatch(cancel context.CancelCauseFunc, first time.Duration, end time.Time) *watch {
	now := time.Now()
	w := &watch{cancel: cancel, end: end, heard: now, limit: first, cause: errFirstToken}
	w.mu.Lock() // the timer may fire before it has its place
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(min(first, end.Sub(now)), w.fire)
	return w
}

func (w *watch) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	now := time.Now()
	wait := min(w.heard.Add(w.limit).Sub(now), w.end.Sub(now))
	switch {
	case !now.Before(w.end):
		w.stop(errTotal)
		return
	case wait <= 0:
		w.stop(w.cause)
		return
	}
	if !w.next.IsZero() {
		if !now.Before(w.next) {
			w.next = now.Add(w.beat(now))
		}
		wait = min(wait, w.next.Sub(now))
	}
	w.timer.Reset(wait)
}

func (w *watch) stop(cause error) {
	w.over, w.why = true, cause
	w.cancel(cause)
}

// abort ends the attempt for a cause that is no limit of ours.
func (w *watch) abort(cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.timer.Stop()
		w.stop(cause)
	}
}

// stopped returns why the attempt was ended; nil when it was not.
func (w *watch) stopped() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.why
}

// progress notes that content came; from now on silence is bounded by limit.
func (w *watch) progress(now time.Time, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = now
	if limit != w.limit {
		w.limit, w.cause = limit, errIdle
		w.rearm(now)
	}
}

// beats calls beat when a comment may be due, now at first; it says when to come
// again.
func (w *watch) beats(beat func(now time.Time) time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.beat, w.next = beat, now.Add(beat(now))
	w.rearm(now)
}

func (w *watch) rearm(now time.Time) {
	if w.over {
		return
	}
	wait := min(w.limit, w.end.Sub(now))
	if !w.next.IsZero() {
		wait = min(wait, max(w.next.Sub(now), 0))
	}
	w.timer.Reset(wait)
}

// done ends the watch; no comment is written after it returns.
func (w *watch) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
	w.cancel(errOver)
}
