package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"llmgw.io/llmgw/storage"
)

// Times of the lease and of a store that is away.
const (
	// followerPoll is how often a process that does not lead asks for the
	// lease: a dead leader is followed within storage.LeaseLife and this.
	followerPoll = 2 * time.Second
	// renewRetry is how soon a renewal is tried again that failed.
	renewRetry = time.Second
	// storeTimeout bounds every single call of the store, releaseTimeout the
	// last one.
	storeTimeout   = 5 * time.Second
	releaseTimeout = 2 * time.Second
	firstBackoff   = 500 * time.Millisecond
	maxBackoff     = 5 * time.Second
)

// Run acquires the lease, loads what was ordered, and keeps the fleet as it
// should be until ctx ends. A lost lease makes it wait and acquire again. A
// store that is away stops nothing: the last view stays, engines run on, and
// the loop tries again with a growing pause.
func (l *Loop) Run(ctx context.Context) error {
	for {
		lease, ok := l.acquire(ctx)
		if !ok {
			return nil
		}
		err := l.lead(ctx, lease)
		if ended(ctx) {
			l.release(ctx, lease)
			return nil
		}
		l.log.Warn("this process no longer leads", "epoch", lease.Epoch, "err", err)
	}
}

// acquire waits until the lease is held; ok is false when ctx ended first.
func (l *Loop) acquire(ctx context.Context) (lease storage.Lease, ok bool) {
	pause := backoff{}
	held := false
	for ctx.Err() == nil {
		lease, err := bounded(ctx, storeTimeout, func(ctx context.Context) (storage.Lease, error) {
			return l.cfg.Assignments.Acquire(ctx, l.cfg.Holder)
		})
		switch {
		case err == nil:
			return lease, true
		case errors.Is(err, storage.ErrHeld):
			if !held {
				l.log.Info("another process leads; this one stands by", "err", err)
			}
			held = true
			pause = backoff{}
			sleep(ctx, followerPoll)
		case ctx.Err() == nil:
			l.log.Warn("the lease could not be asked for", "err", err)
			sleep(ctx, pause.next())
		}
	}
	return storage.Lease{}, false
}

// renew keeps the lease until ctx ends, or until it is lost. A store that does
// not answer is no loss: whoever leads after us fences our writes, and agents
// refuse our older epoch, so that going on does no harm.
func (l *Loop) renew(ctx context.Context, lease storage.Lease) error {
	every := storage.LeaseRenewal
	for {
		sleep(ctx, every)
		if ended(ctx) {
			return nil
		}
		next, err := bounded(ctx, storeTimeout, func(ctx context.Context) (storage.Lease, error) {
			return l.cfg.Assignments.Renew(ctx, lease)
		})
		switch {
		case err == nil:
			lease, every = next, storage.LeaseRenewal
		case lost(err):
			return fmt.Errorf("renew the lease: %w", err)
		case ctx.Err() == nil:
			if every != renewRetry {
				l.log.Warn("the lease could not be renewed; trying again", "err", err)
			}
			every = renewRetry
		}
	}
}

func (l *Loop) release(ctx context.Context, lease storage.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := l.cfg.Assignments.Release(ctx, lease); err != nil {
		l.log.Warn("the lease could not be given up; it ends by itself", "err", err)
	}
}

// lost reports whether an error says that another process leads now.
func lost(err error) bool {
	return errors.Is(err, storage.ErrLost) || errors.Is(err, storage.ErrFenced)
}

// ended reports whether ctx is over, which is how a loop is told to stop and so
// no failure.
func ended(ctx context.Context) bool { return ctx.Err() != nil }

// bounded calls f with a time limit of its own.
func bounded[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// sleep waits, or returns when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// backoff is a pause that doubles. The zero value is ready.
type backoff struct{ last time.Duration }

func (b *backoff) next() time.Duration {
	b.last = min(max(firstBackoff, 2*b.last), maxBackoff)
	return b.last
}
