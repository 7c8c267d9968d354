package control

import (
	"context"
	"fmt"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

// order is something a person asked for, until a pass has kept it.
type order struct {
	reconciler.Order
	// done is closed when the order is over, well or not; err is set before.
	done chan struct{}
	err  error
}

// Headroom tries up to limit more replicas of a model on a copy of the fleet.
func (l *Loop) Headroom(model catalog.Name, limit int) (placement.Headroom, error) {
	entry, ok := l.cfg.Catalog.Index().Get(model)
	if !ok {
		return placement.Headroom{}, fmt.Errorf("%w: %s", reconciler.ErrNoModel, model)
	}
	return l.cfg.Placer.Headroom(l.cfg.Fleet.Snapshot(), reconciler.Request(&entry.Model), limit), nil
}

// Retry un-parks a model and clears its failures. It returns once that is kept.
func (l *Loop) Retry(ctx context.Context, model catalog.Name) (wasParked bool, err error) {
	if _, ok := l.cfg.Catalog.Index().Get(model); !ok {
		return false, fmt.Errorf("%w: %s", reconciler.ErrNoModel, model)
	}
	wasParked = l.View().Health[model].Parked
	return wasParked, l.give(ctx, []*order{newOrder(reconciler.Order{Retry: model})})
}

// Restart queues restarts; one unknown id refuses them all. It returns once they
// are kept, not when they are carried out.
func (l *Loop) Restart(ctx context.Context, ids []reconciler.ReplicaID, mode reconciler.RestartMode) error {
	known := map[reconciler.ReplicaID]bool{}
	for _, r := range l.View().Replicas {
		known[r.ID] = true
	}
	var orders []*order
	for _, id := range ids {
		if !known[id] {
			return fmt.Errorf("%w: %s", reconciler.ErrNoReplica, id)
		}
		orders = append(orders, newOrder(reconciler.Order{Restart: id, Mode: mode}))
	}
	return l.give(ctx, orders)
}

func newOrder(o reconciler.Order) *order { return &order{Order: o, done: make(chan struct{})} }

// give hands orders to the one who leads and waits until they are kept.
func (l *Loop) give(ctx context.Context, orders []*order) error {
	l.mu.Lock()
	if !l.leading {
		l.mu.Unlock()
		return reconciler.ErrNotLeading
	}
	l.orders = append(l.orders, orders...)
	l.mu.Unlock()
	l.Wake()
	for _, o := range orders {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-o.done:
		}
		if o.err != nil {
			return o.err
		}
	}
	return nil
}

func (l *Loop) pendingOrders() []reconciler.Order {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]reconciler.Order, len(l.orders))
	for i, o := range l.orders {
		out[i] = o.Order
	}
	return out
}

// ordersDone drops the n oldest orders, which were kept.
func (l *Loop) ordersDone(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.orders[:n] {
		close(o.done)
	}
	l.orders = l.orders[n:]
}

// setLeading lets orders in, or refuses those that wait.
func (l *Loop) setLeading(leading bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leading = leading
	if leading {
		return
	}
	for _, o := range l.orders {
		o.err = reconciler.ErrNotLeading
		close(o.done)
	}
	l.orders = nil
}
