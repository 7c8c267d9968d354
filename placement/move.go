package placement

import (
	"cmp"
	"maps"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Resident is a replica that may be moved.
type Resident struct {
	Replica string
	Model   *catalog.Model
	// Nodes are all that it has a shard on.
	Nodes []inventory.NodeID
	// Apart are models that must not run where it goes: see [Request].
	Apart []catalog.Name
	// Speeds part the nodes that it may go to: see [Request].
	Speeds *Speeds
}

// request asks where it may go.
func (r *Resident) request(avoid map[inventory.NodeID]string) Request {
	return Request{Model: r.Model, Apart: r.Apart, Speeds: r.Speeds, Avoid: avoid}
}

// Move is a replica that goes elsewhere. It has its new place before it leaves
// the old one, so nothing of it is missing meanwhile.
type Move struct {
	Replica string
	To      Candidate
}

// Rearrange finds room for a request that finds none, by letting at most so many
// of the residents go elsewhere: to devices that are free now, by the order of
// their own profiles. The fewest moves win, then the first nodes by id. It only
// says what could be done; the index is afterwards what it was.
func (x *Index) Rearrange(req Request, residents []Resident, most int) (Decision, []Move) {
	r := rearranging{x: x, req: req, most: most, on: map[int32][]Resident{}}
	r.settle(residents)
	if len(r.on) == 0 || most < 1 {
		return Decision{}, nil
	}
	for i := range req.Model.Profiles {
		profile := &req.Model.Profiles[i]
		if !req.wants(profile) {
			continue
		}
		for _, set := range r.sets(profile) {
			if decision, moves := r.prove(set); decision.Placed {
				return decision, moves
			}
		}
	}
	return Decision{}, nil
}

// Rearrange is the index's Rearrange on a snapshot.
func (p Placer) Rearrange(world *inventory.Snapshot, req Request, residents []Resident, most int) (Decision, []Move) {
	x := NewIndex(p)
	x.Advance(world)
	return x.Rearrange(req, residents, most)
}

// rearranging is one call of Rearrange at work.
type rearranging struct {
	x    *Index
	req  Request
	most int
	on   map[int32][]Resident // by host: those that have room elsewhere
}

// leaving are residents of some hosts that make room there.
type leaving struct {
	hosts     []int32
	residents []Resident
}

// mostMoveProofs is how many sets are tried for one profile.
const mostMoveProofs = 8

// settle finds the residents that have room elsewhere as things are. Of most
// models there is none, and one question tells for all their replicas.
func (r *rearranging) settle(residents []Resident) {
	room := map[*catalog.Model]bool{}
	for _, resident := range residents {
		has, asked := room[resident.Model]
		if !asked {
			d, _ := r.x.Choose(resident.request(nil))
			has = d.Placed
			room[resident.Model] = has
		}
		for _, node := range resident.Nodes {
			if at, known := r.x.places[node]; known && has {
				r.on[at] = append(r.on[at], resident)
			}
		}
	}
	for _, list := range r.on {
		slices.SortFunc(list, func(a, b Resident) int {
			return cmp.Or(cmp.Compare(len(a.Nodes), len(b.Nodes)), cmp.Compare(a.Replica, b.Replica))
		})
	}
}

// sets are those that would make room for all shards of a profile, the fewest
// moves first.
func (r *rearranging) sets(profile *catalog.Profile) []leaving {
	c := r.x.classFor(r.req, profile)
	c.catchUp(r.x)
	offers := map[int32]leaving{}
	for at := range int32(len(c.codes)) {
		if _, avoided := r.req.Avoid[r.x.land.hosts[at].node.ID]; avoided || c.static[at] != 0 {
			continue
		}
		if c.codes[at] == 0 {
			offers[at] = leaving{hosts: []int32{at}}
		} else if set, ok := r.clear(c, at); ok {
			offers[at] = set
		}
	}
	var out []leaving
	switch shards := profile.ShardCount(); {
	case c.q.bound():
		for d := range r.x.land.domains {
			if dom := &r.x.land.domains[d]; c.q.within(dom.key) {
				out = r.cheapest(out, dom.members, offers, shards)
			}
		}
	case shards > 1: // of any nodes
		out = r.cheapest(out, slices.Sorted(maps.Keys(offers)), offers, shards)
	default:
		for at := range int32(len(c.codes)) {
			out = r.cheapest(out, []int32{at}, offers, shards)
		}
	}
	slices.SortStableFunc(out, func(a, b leaving) int { return cmp.Compare(len(a.residents), len(b.residents)) })
	return out[:min(len(out), mostMoveProofs)]
}

// clear finds residents of a host whose leaving makes room there for a shard,
// those on the fewest nodes first.
func (r *rearranging) clear(c *class, at int32) (set leaving, ok bool) {
	here := r.on[at]
	if len(here) == 0 {
		return set, false
	}
	r.x.Try(func() {
		set.hosts = []int32{at}
		for _, resident := range here {
			if len(set.residents) == r.most {
				return
			}
			r.x.Without(resident.Replica, resident.Nodes...)
			set.residents = append(set.residents, resident)
			c.q.see(int(at))
			if ok = c.q.refusePassing().reason == ""; ok {
				return
			}
		}
	})
	return set, ok
}

// cheapest adds the set for the hosts of a domain that need the fewest moves.
func (r *rearranging) cheapest(out []leaving, members []int32, offers map[int32]leaving, shards int) []leaving {
	var able []leaving
	for _, at := range members {
		if o, ok := offers[at]; ok {
			able = append(able, o)
		}
	}
	if len(able) < shards {
		return out
	}
	slices.SortStableFunc(able, func(a, b leaving) int { return cmp.Compare(len(a.residents), len(b.residents)) })
	var set leaving
	for _, o := range able[:shards] {
		set.hosts = append(set.hosts, o.hosts...)
		for _, resident := range o.residents {
			if !slices.ContainsFunc(set.residents, func(has Resident) bool { return has.Replica == resident.Replica }) {
				set.residents = append(set.residents, resident)
			}
		}
	}
	if len(set.residents) == 0 || len(set.residents) > r.most {
		return out
	}
	return append(out, set)
}

// prove moves the residents in a trial and asks again.
func (r *rearranging) prove(set leaving) (decision Decision, moves []Move) {
	avoid := map[inventory.NodeID]string{}
	for _, at := range set.hosts {
		avoid[r.x.land.hosts[at].node.ID] = "something leaves it"
	}
	r.x.Try(func() {
		for i, resident := range set.residents {
			d, _ := r.x.Choose(resident.request(avoid))
			if !d.Placed {
				return
			}
			r.x.With(d.Candidate.Allocations(string(resident.Model.Name), headroomReplica(i))...)
			moves = append(moves, Move{Replica: resident.Replica, To: d.Candidate})
		}
		for _, resident := range set.residents {
			r.x.Without(resident.Replica, resident.Nodes...)
		}
		decision, _ = r.x.Choose(r.req)
	})
	return decision, moves
}
