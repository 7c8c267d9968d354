package inventory

import (
	"context"
	"log/slog"
	"time"
)

// RegistryConfig is what a Registry needs.
type RegistryConfig struct {
	// Store keeps what people set. Required.
	Store Store
	// UnreachableAfter and LostAfter are the silences after which a node counts
	// as such. Default 15 and 60 seconds.
	UnreachableAfter time.Duration
	LostAfter        time.Duration
	// Logger nil is silent.
	Logger *slog.Logger
}

// Report is one message of an agent, as far as the registry is concerned. Nil
// fields leave what is known alone.
type Report struct {
	Facts *Facts
	// Shards is the whole list when Whole, else those that changed.
	Shards []ShardStatus
	Whole  bool
	Sample *Sample
	// At is the agent's clock. Zero: it did not say.
	At time.Time
}

// Registry is the live inventory. It may be used by any number of goroutines at
// once; no method holds its lock while it calls the store.
type Registry struct{}

// NewRegistry loads the known nodes; they count as unreachable, from now on,
// until they are heard.
func NewRegistry(ctx context.Context, cfg RegistryConfig, now time.Time) (*Registry, error) {
	panic("not built yet")
}

// Run lets silence grow: it marks nodes unreachable and lost, by the real clock,
// until ctx ends.
func (r *Registry) Run(ctx context.Context) error { panic("not built yet") }

// Tick does once, for a given time, what Run does.
func (r *Registry) Tick(now time.Time) { panic("not built yet") }

// Snapshot is the newest world. It never blocks.
func (r *Registry) Snapshot() *Snapshot { panic("not built yet") }

// Changed returns a channel that is closed at the next change of any node,
// shard states included. Take it before the snapshot.
func (r *Registry) Changed() <-chan struct{} { panic("not built yet") }

// Apply takes a report of a node at a time. A node that is not known is made
// known. It never blocks on the store.
func (r *Registry) Apply(id NodeID, rep Report, now time.Time) { panic("not built yet") }

// Reserve makes all allocations, or none: every touched node must still have
// the version given for it, and whole devices must be free and shared ones have
// the memory, else the error matches ErrStale.
func (r *Registry) Reserve(versions map[NodeID]uint64, as []Allocation) error {
	panic("not built yet")
}

// Release frees what a replica occupies; harmless when it occupies nothing.
func (r *Registry) Release(replica string) { panic("not built yet") }

// SetWish changes what people want of a node and answers the node as it is then.
func (r *Registry) SetWish(ctx context.Context, id NodeID, w Wish, by Author) (*Node, error) {
	panic("not built yet")
}

// Forget removes a node that is lost, or unreachable with nothing allocated;
// else the error matches ErrState and says what to do.
func (r *Registry) Forget(ctx context.Context, id NodeID, by Author) error {
	panic("not built yet")
}
