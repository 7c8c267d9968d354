package control

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

const (
	// coalesce is the least time between two passes, so that a burst of changes
	// is one pass. The first change of a burst is looked at at once.
	coalesce = 50 * time.Millisecond
	// resync is the most time between two passes: it brings views of traffic up
	// to date, and repairs whatever signal was missed.
	resync = 5 * time.Second
	// dispatchRetry is how soon a list that could not be delivered is tried
	// again.
	dispatchRetry = time.Second
)

// reign is one time of leading: what was ordered, as the store has it.
type reign struct {
	l      *Loop
	epoch  int64
	leader storage.Leader
	scribe *scribe

	// replicas, ordered by id, are never changed in place: views and the
	// dispatcher share them.
	replicas []reconciler.Replica
	memory   reconciler.Memory
	traces   map[catalog.Name]placement.Trace

	// known: the store was read once. fresh: nothing since then left it in
	// doubt whether replicas and memory are what the store has.
	known, fresh bool
	// delivered: the dispatcher has the newest list, made on the fleet as it was
	// then.
	delivered   bool
	deliveredOn *inventory.Snapshot
	// deliveredAs is the version of the catalog then, of which orders to fetch are made.
	deliveredAs uint64
	// pause and retryAt hold back what needs the store after it failed.
	pause   backoff
	retryAt time.Time
	wakeAt  time.Time
}

// lead runs one reign until the lease is lost or ctx ends.
func (l *Loop) lead(ctx context.Context, lease storage.Lease) error {
	ctx, stop := context.WithCancelCause(ctx)
	var renewal sync.WaitGroup
	renewal.Go(func() { stop(l.renew(ctx, lease)) })
	defer renewal.Wait()
	defer stop(nil)

	r := &reign{l: l, epoch: lease.Epoch, leader: l.cfg.Assignments.Lead(lease.Epoch), scribe: newScribe(ctx, l.cfg.Journal, l.log)}
	defer r.scribe.stop()
	l.setLeading(true)
	defer l.setLeading(false)
	l.tellLed(lease.Epoch, true)
	defer l.tellLed(lease.Epoch, false)
	l.log.Info("this process leads", "epoch", lease.Epoch)
	for {
		catalogChanged, fleetChanged := l.cfg.Catalog.Changed(), l.cfg.Fleet.Changed()
		began := time.Now()
		if err := r.guardedPass(ctx); lost(err) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.wait(ctx, catalogChanged, fleetChanged, began)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// wait returns when there is reason for another pass.
func (r *reign) wait(ctx context.Context, catalogChanged, fleetChanged <-chan struct{}, began time.Time) {
	timer := time.NewTimer(time.Until(r.nextLook()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-catalogChanged:
	case <-fleetChanged:
	case <-r.l.wakes:
	case <-timer.C:
	}
	if rest := coalesce - time.Since(began); rest > 0 {
		sleep(ctx, rest)
	}
}

// nextLook is when to look again though nothing changes.
func (r *reign) nextLook() time.Time {
	t := time.Now().Add(resync)
	for _, at := range []time.Time{r.wakeAt, r.retryAt} {
		if !at.IsZero() && at.Before(t) {
			t = at
		}
	}
	if r.fresh && !r.delivered {
		t = time.Now().Add(dispatchRetry)
	}
	return t
}

// guardedPass is a pass that outlives a panic of our own. The loop is the edge
// at which one is caught: what it serves goes on without it, and a process that
// died here would take its router's streams along. What was decided is dropped,
// whoever gave an order for it is told so, and the store is read again after a
// pause.
func (r *reign) guardedPass(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.l.log.Error("a pass of the control loop panicked; this is a bug of llmgw", "err", p, "stack", string(debug.Stack()))
			r.l.refuseTaken(errPanicked)
			r.memory.Cache = nil
			r.doubt()
		}
	}()
	return r.pass(ctx)
}

// doubt makes the next pass read the store again, after a pause.
func (r *reign) doubt() {
	r.fresh = false
	r.retryAt = now().Add(r.pause.next())
}

func (l *Loop) tellLed(epoch int64, leading bool) {
	if l.cfg.Events.Led != nil {
		l.cfg.Events.Led(epoch, leading)
	}
}
