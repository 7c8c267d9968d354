package control

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/dryrun"
	"llmgw.io/llmgw/placement/reconciler"
)

// order is something a person asked for, until a pass has kept it.
type order struct {
	reconciler.Order
	// done is closed when the order is over, well or not; err is set before.
	done chan struct{}
	err  error
}

// Headroom tries up to limit more replicas of a model on a copy of the fleet, and
// then in the room of lower classes.
func (l *Loop) Headroom(model catalog.Name, limit int) (h reconciler.Headroom, err error) {
	l.aside(func(c *reconciler.Cache) { h, err = l.reconciler.Headroom(l.newest(), model, limit, c) })
	return h, err
}

// aside lets those who only ask share what they know of the fleet, one after the
// other. It is not what the loop decides with, so they never wait for each other.
func (l *Loop) aside(ask func(c *reconciler.Cache)) {
	l.asking.Lock()
	defer l.asking.Unlock()
	c := l.asked
	l.asked = nil // a question that panics leaves nothing behind
	if c == nil {
		c = new(reconciler.Cache)
	}
	ask(c)
	l.asked = c
}

// Help looks for the smallest change that makes room for one more replica of a
// model.
func (l *Loop) Help(model catalog.Name) (h reconciler.Help, err error) {
	l.aside(func(c *reconciler.Cache) { h, err = l.reconciler.Help(l.newest(), model, c) })
	return h, err
}

// newest is the view with the catalog and the fleet as they are now.
func (l *Loop) newest() *reconciler.View {
	v := *l.View()
	v.Catalog, v.Fleet = l.cfg.Catalog.Index(), l.cfg.Fleet.Snapshot()
	return &v
}

// PlanHold says what a hold would do if it carried out its place.
func (l *Loop) PlanHold(h inventory.Hold) (p reconciler.HoldPlan) {
	l.aside(func(c *reconciler.Cache) { p = l.reconciler.PlanHold(l.newest(), h, now(), c) })
	return p
}

// PlanChange says what a change of a model, a node or a hold would do.
func (l *Loop) PlanChange(c dryrun.Change) (dryrun.Report, error) {
	v := l.newest()
	v.At = now()
	return dryrun.Plan(l.reconciler, v, c)
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

// ReleaseBrake lets what is lost be replaced. It returns once that is kept, and
// says whether the brake was set.
func (l *Loop) ReleaseBrake(ctx context.Context) (wasSet bool, err error) {
	wasSet = l.View().Brake.On()
	return wasSet, l.give(ctx, []*order{newOrder(reconciler.Order{ReleaseBrake: true})})
}

func newOrder(o reconciler.Order) *order { return &order{Order: o, done: make(chan struct{})} }

// give hands orders to the one who leads and waits until they are kept. One that
// nobody waits for any more is withdrawn: whoever was told that there was no
// answer must not find it carried out an hour later.
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
			l.drop(orders)
			return ctx.Err()
		case <-o.done:
		}
		if o.err != nil {
			return o.err
		}
	}
	return nil
}

// drop takes orders out of those that wait.
func (l *Loop) drop(orders []*order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.orders = slices.DeleteFunc(l.orders, func(o *order) bool { return slices.Contains(orders, o) })
}

// errPanicked is for those whose orders were taken by a pass that broke.
var errPanicked = errors.New("control: the pass that took the order panicked")

// pendingOrders are the orders that wait, for a pass to take.
func (l *Loop) pendingOrders() []reconciler.Order {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = slices.Clone(l.orders)
	out := make([]reconciler.Order, len(l.taken))
	for i, o := range l.taken {
		out[i] = o.Order
	}
	return out
}

// ordersDone ends the n oldest orders that were taken, which were kept.
func (l *Loop) ordersDone(n int) {
	done := l.taken[:n]
	l.taken = l.taken[n:]
	l.drop(done)
	for _, o := range done {
		close(o.done)
	}
}

// refuseTaken ends the orders that were taken with an error: they may be what a
// pass cannot stand, and would stop every later one.
func (l *Loop) refuseTaken(err error) {
	taken := l.taken
	l.taken = nil
	l.drop(taken)
	for _, o := range taken {
		o.err = err
		close(o.done)
	}
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
	l.orders, l.taken = nil, nil
}
