package placement

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Verify says whether a candidate still holds in the world as it is now; the
// empty reason means that it does. It asks the same filters as Choose, and
// whether these very devices are still open; it does not ask whether another
// node would be better by now.
func (p Placer) Verify(world *inventory.Snapshot, req Request, c Candidate) (Reason, string) {
	profiles := req.profiles()
	i := slices.IndexFunc(profiles, func(x *catalog.Profile) bool { return x.Name == c.Profile })
	if i < 0 {
		return Excluded, fmt.Sprintf("the model has no profile %s to place any more", c.Profile)
	}
	land := newLandscape(p, concerned(world, profiles[i], req.Model, c))
	q := newQuery(p, req, profiles[i]).in(land, newStanding(land, req.Model))
	if len(c.Spots) != q.profile.ShardCount() {
		return GroupShape, fmt.Sprintf("profile %s has %d shards now, the candidate has %d", c.Profile, q.profile.ShardCount(), len(c.Spots))
	}
	for _, s := range c.Spots {
		at, known := land.place(s.Node)
		if !known {
			return NotReady, fmt.Sprintf("node %s is not known any more", s.Node)
		}
		q.see(at)
		if r := q.refuse(); r.reason != "" {
			return r.reason, r.sentence(q)
		}
		if reason, text := q.verifyDevices(s.Devices); reason != "" {
			return reason, text
		}
	}
	return q.verifyGroup(c.Spots)
}

// concerned are the nodes that a candidate rests on: its own, and those with
// replicas of the model where the profile bounds their number.
func concerned(world *inventory.Snapshot, p *catalog.Profile, m *catalog.Model, c Candidate) []*inventory.Node {
	bounded := p.Spread != nil && p.Spread.MaxPerDomain > 0
	var out []*inventory.Node
	for _, n := range world.Nodes() {
		if slices.ContainsFunc(c.Spots, func(s Spot) bool { return s.Node == n.ID }) ||
			bounded && slices.ContainsFunc(n.Allocations, func(a inventory.Allocation) bool { return a.Model == string(m.Name) }) {
			out = append(out, n)
		}
	}
	return out
}

func (q *query) verifyDevices(shares []inventory.DeviceShare) (Reason, string) {
	if len(shares) != q.need.devices {
		return GroupShape, fmt.Sprintf("the profile asks for %d devices now, the candidate has %d", q.need.devices, len(shares))
	}
	for _, s := range shares {
		d := q.h.device(s.Index)
		switch {
		case d == nil:
			return NoDevices, fmt.Sprintf("device %d is gone", s.Index)
		case (s.MemoryMB > 0) != q.need.shared:
			return GroupShape, fmt.Sprintf("the profile shares devices otherwise now than the candidate does device %s", d.of.Label)
		case q.reach(d) < roomy:
			return DevicesBusy, fmt.Sprintf("device %s is not open any more", d.of.Label)
		}
	}
	return "", ""
}

// verifyGroup asks whether the nodes of a group still share what they must.
func (q *query) verifyGroup(spots []Spot) (Reason, string) {
	if len(spots) == 1 || !q.bound() {
		return "", ""
	}
	first, _ := q.land.place(spots[0].Node)
	for _, d := range q.land.hosts[first].domains {
		if q.within(q.land.domains[d].key) && q.allIn(d, spots) {
			return "", ""
		}
	}
	return GroupShape, "its nodes do not share " + q.shared() + " any more"
}

func (q *query) allIn(d int32, spots []Spot) bool {
	for _, s := range spots {
		at, _ := q.land.place(s.Node)
		if !slices.Contains(q.land.hosts[at].domains, d) {
			return false
		}
	}
	return true
}
