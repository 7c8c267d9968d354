package control

import (
	"context"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

// Catalog is what should be served. Neither method blocks.
type Catalog interface {
	Index() *catalog.Index
	// Changed is closed at the next change.
	Changed() <-chan struct{}
}

// Fleet is what there is. No method blocks.
type Fleet interface {
	Snapshot() *inventory.Snapshot
	Changed() <-chan struct{}
	Reserve(versions map[inventory.NodeID]uint64, as []inventory.Allocation) error
	Release(replica string)
	// Restore makes allocations of what was ordered before, without asking
	// whether there is room, and makes their nodes known. It is safe to repeat.
	Restore(as []inventory.Allocation)
}

// Dispatcher delivers what is desired to the agents. It is given the whole of
// it every time, so a repetition is harmless; it keeps the slice, and what the
// replicas refer to does not change afterwards. It does not wait for agents.
type Dispatcher interface {
	Dispatch(ctx context.Context, epoch int64, replicas []reconciler.Replica) error
}

// Traffic says what requests there are. It does not block; its maps belong to
// the caller.
type Traffic interface {
	Traffic() reconciler.Traffic
}

// Assignments is where what was ordered is kept, and how the right to order is
// held.
type Assignments interface {
	Acquire(ctx context.Context, holder string) (storage.Lease, error)
	Renew(ctx context.Context, l storage.Lease) (storage.Lease, error)
	Release(ctx context.Context, l storage.Lease) error
	Lead(epoch int64) storage.Leader
}

// Events are told what happened. Nil functions are not called; none may block.
type Events struct {
	// Happened is told every event of a plan that was carried out.
	Happened func(reconciler.Event)
	// Led is told when this process began or ceased to lead.
	Led func(epoch int64, leading bool)
}
