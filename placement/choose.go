package placement

import (
	"math/rand/v2"

	"llmgw.io/llmgw/inventory"
)

// Choose finds room for one replica, or says why there is none. rng breaks ties
// when it is given; nil breaks them by id.
func (p Placer) Choose(world *inventory.Snapshot, req Request, rng *rand.Rand) (Decision, Trace) {
	panic("not built yet")
}

// Headroom tells how many more replicas fit: Choose in a loop on copies.
type Headroom struct {
	// Spots has one candidate per replica that fits, in order.
	Spots []Candidate
	// Limited means that the limit was reached, not the fleet's edge.
	Limited bool
	// Blocked is the trace of the attempt that found no room. Zero when Limited.
	Blocked Trace
}

// Headroom tries up to limit more replicas on a copy of the world.
func (p Placer) Headroom(world *inventory.Snapshot, req Request, limit int) Headroom {
	panic("not built yet")
}

// Verify says whether a candidate still holds in the world as it is now; the
// empty reason means that it does.
func (p Placer) Verify(world *inventory.Snapshot, req Request, c Candidate) (Reason, string) {
	panic("not built yet")
}
