package replay

import (
	"time"

	"llmgw.io/llmgw/placement/reconciler"
)

// Pass is one look at the cluster: what Step was given, what it answered, and what
// became of that. Nothing in it is changed by this package.
type Pass struct {
	// Epoch is the leader's.
	Epoch  int64
	World  reconciler.World
	Memory reconciler.Memory
	Plan   reconciler.Plan
	// After is the memory that Step answered.
	After   reconciler.Memory
	Outcome Outcome
	// Moves is the reconciler's setting of that name.
	Moves float64
	// Missed is how many passes before this one decided something and were not
	// written down, for want of time or of room.
	Missed int
}

// Outcome is what became of a plan.
type Outcome string

// The outcomes.
const (
	// Kept means that room was reserved, the plan was kept, and it is carried out.
	Kept Outcome = "kept"
	// Stale means that the fleet had changed meanwhile: nothing was carried out.
	Stale Outcome = "stale"
	// Failed means that the store did not keep it: nothing was carried out.
	Failed Outcome = "failed"
)

// Entry is a pass as bytes.
type Entry struct {
	At    time.Time
	Epoch int64
	// Base says that the entry is whole. Any other is what differs from the entry
	// before it.
	Base bool
	Data []byte
}

// How often a base comes though changes would do: reading begins at one, and a
// lost entry costs what follows up to the next.
const (
	BaseEvery = 30 * time.Minute
	MaxChange = 2000
)
