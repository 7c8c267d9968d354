package placement

import (
	"strconv"

	"llmgw.io/llmgw/inventory"
)

// Headroom tells how many more replicas fit: Choose in a loop on trial.
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
	x := NewIndex(p)
	x.Advance(world)
	return x.headroom(req, limit, x.Explain)
}

// Headroom tries up to limit more replicas, as the placer's Headroom does. The
// index is afterwards what it was. The trace of what found no room has counts
// only, and belongs to the index.
func (x *Index) Headroom(req Request, limit int) Headroom {
	return x.headroom(req, limit, x.Choose)
}

func (x *Index) headroom(req Request, limit int, tell func(Request) (Decision, Trace)) Headroom {
	var out Headroom
	x.Try(func() {
		for len(out.Spots) < limit {
			d, _ := x.Choose(req)
			if !d.Placed {
				_, out.Blocked = tell(req)
				return
			}
			x.With(d.Candidate.Allocations(string(req.Model.Name), headroomReplica(len(out.Spots)))...)
			out.Spots = append(out.Spots, d.Candidate)
		}
		out.Limited = true
	})
	return out
}

// headroomReplica is a name that no replica has, so none is mistaken for it.
func headroomReplica(ordinal int) string { return "headroom/" + strconv.Itoa(ordinal) }
