package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// MaxHolds is how many holds there may be at once.
const MaxHolds = 1000

// holdsEvery is how often the store is asked for holds that another process
// made, and rid of those that ended.
const holdsEvery = time.Minute

// sweeper is who drops a hold that ended.
func sweeper() Author {
	return Author{Principal: "system:inventory", Action: "holds.end", Reason: "its end is past"}
}

// Hold holds a domain, in place of the hold it had, and answers the hold as it
// is kept. One that makes no sense answers an error that matches ErrInvalid.
func (r *Registry) Hold(ctx context.Context, h Hold, now time.Time, by Author) (Hold, error) {
	h.Since, h.From, h.Until = now.UTC(), h.From.UTC(), h.Until.UTC()
	if h.By == "" {
		h.By = by.Principal
	}
	if err := h.Check(now); err != nil {
		return Hold{}, fmt.Errorf("hold %s: %w", h.Domain, err)
	}
	if r.holds == nil {
		return Hold{}, fmt.Errorf("hold %s: %w: nothing keeps holds here, so it would not survive a restart", h.Domain, ErrState)
	}
	r.holding.Lock()
	defer r.holding.Unlock()
	rest := without(r.Snapshot().Holds(), h.Domain)
	if len(rest) >= MaxHolds {
		return Hold{}, fmt.Errorf("hold %s: %w: there are %d holds already, release some first", h.Domain, ErrInvalid, MaxHolds)
	}
	if err := r.holds.PutHold(ctx, h, by); err != nil {
		return Hold{}, fmt.Errorf("hold %s: %w", h.Domain, err)
	}
	r.adoptHolds(append(rest, h), now)
	r.log.Info("a place is held", "domain", h.Domain.String(), "actor", by.Principal)
	return h, nil
}

// ReleaseHold ends the hold of a domain; ErrNoHold when it has none.
func (r *Registry) ReleaseHold(ctx context.Context, d Domain, now time.Time, by Author) error {
	r.holding.Lock()
	defer r.holding.Unlock()
	has := r.Snapshot().Holds()
	if !slices.ContainsFunc(has, func(h Hold) bool { return h.Domain == d }) {
		return fmt.Errorf("release %s: %w", d, ErrNoHold)
	}
	if err := r.holds.DeleteHold(ctx, d, by); err != nil {
		return fmt.Errorf("release %s: %w", d, err)
	}
	r.adoptHolds(without(has, d), now)
	r.log.Info("a place is released", "domain", d.String(), "actor", by.Principal)
	return nil
}

// without copies holds but for that of a domain.
func without(holds []Hold, d Domain) []Hold {
	return slices.DeleteFunc(slices.Clone(holds), func(h Hold) bool { return h.Domain == d })
}

// sweepHolds keeps the holds as the store has them, until ctx ends.
func (r *Registry) sweepHolds(ctx context.Context) {
	t := time.NewTicker(holdsEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if err := r.SweepHolds(ctx, time.Now()); err != nil && ctx.Err() == nil {
				r.log.Warn("holds could not be brought up to date; those that are known stay", "err", err)
			}
		}
	}
}

// SweepHolds does once what Run does every minute: it drops the holds that have
// ended, which do nothing any more, and learns of those that another process
// made.
func (r *Registry) SweepHolds(ctx context.Context, now time.Time) error {
	if r.holds == nil {
		return nil
	}
	r.holding.Lock()
	defer r.holding.Unlock()
	for _, h := range r.Snapshot().Holds() {
		if !h.Ended(now) {
			continue
		}
		if err := r.holds.DeleteHold(ctx, h.Domain, sweeper()); err != nil {
			return fmt.Errorf("drop the hold of %s, which has ended: %w", h.Domain, err)
		}
	}
	return r.loadHolds(ctx, now)
}

// loadHolds takes the holds as the store has them.
func (r *Registry) loadHolds(ctx context.Context, now time.Time) error {
	if r.holds == nil {
		return nil
	}
	holds, err := r.holds.ListHolds(ctx)
	if err != nil {
		return err
	}
	r.adoptHolds(holds, now)
	return nil
}

// adoptHolds publishes holds as the store keeps them.
func (r *Registry) adoptHolds(holds []Hold, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.edit()
	e.hold(holds, now)
	if len(holds) > 0 || len(r.Snapshot().Holds()) > 0 {
		r.publish(e, e.decisive)
	}
}
