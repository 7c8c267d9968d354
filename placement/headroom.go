package placement

import (
	"strconv"

	"llmgw.io/llmgw/inventory"
)

// Headroom tells how many more replicas fit: Choose in a loop on copies.
type Headroom struct {
	// Spots has one candidate per replica that fits, in order.
	Spots []Candidate
	// Limited means that the limit was reached, not the fleet's edge.
	Limited bool
	// Blocked is the trace of the attempt that found no room. Zero when Limited.
	Blocked Trace
}

// Headroom tries up to limit more replicas on a copy of the world, which stays
// as it is. A limit of zero or less tries none.
func (p Placer) Headroom(world *inventory.Snapshot, req Request, limit int) Headroom {
	var out Headroom
	for len(out.Spots) < limit {
		d, trace := p.Choose(world, req, nil)
		if !d.Placed {
			out.Blocked = trace
			return out
		}
		replica := headroomReplica(len(out.Spots))
		world = world.With(d.Candidate.Allocations(string(req.Model.Name), replica)...)
		out.Spots = append(out.Spots, d.Candidate)
	}
	out.Limited = true
	return out
}

// headroomReplica is a name that no replica has, so none is mistaken for it.
func headroomReplica(ordinal int) string { return "headroom/" + strconv.Itoa(ordinal) }
