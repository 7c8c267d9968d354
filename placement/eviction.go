package placement

import (
	"cmp"
	"math/bits"
	"slices"

	"llmgw.io/llmgw/catalog"
)

// Bounds of the search. A node with more candidates than mostExact, and what is
// left when mostTrials are made, is searched greedily: all of them leave, and
// the most harmful come back while there is still room.
const (
	mostExact  = 10
	mostTrials = 50_000
	mostProofs = 16
)

// eviction is a search at work.
type eviction struct {
	x       *Index
	req     Request
	able    []evictee            // those of lower classes, least harm first
	allowed map[catalog.Name]int // how many of a model may leave
	taken   map[string]bool      // replicas that have left
	on      [][]int32            // by host: who of able stands there
	trials  int
}

// offer is what it costs a host to take one shard.
type offer struct {
	at   int32
	set  []int // of able, ascending; empty: it has room now
	harm float64
}

// found is a set that makes room, as Choose has shown.
type found struct {
	decision Decision
	set      []int
	harm     float64
}

func newEviction(x *Index, req Request, standing []Occupant, floors map[catalog.Name]int) *eviction {
	e := &eviction{x: x, req: req, allowed: map[catalog.Name]int{}, taken: map[string]bool{}}
	for i := range standing {
		o := &standing[i]
		e.allowed[o.Model]++
		if e.below(o) {
			e.able = append(e.able, evictee{Occupant: *o, rank: o.Class.Rank()})
		}
	}
	for name, floor := range floors {
		e.allowed[name] -= floor
	}
	e.able = slices.DeleteFunc(e.able, func(v evictee) bool { return e.allowed[v.Model] <= 0 })
	e.locate()
	return e
}

// below reports whether a replica may be asked to give way at all.
func (e *eviction) below(o *Occupant) bool {
	return o.Class.Rank() < e.req.Model.Class.Rank() && o.Model != e.req.Model.Name
}

// take lets a set leave for good.
func (e *eviction) take(set []int) {
	for _, i := range set {
		e.leave(i)
		e.taken[e.able[i].Replica] = true
		e.allowed[e.able[i].Model]--
	}
}

// leave takes one out of the index.
func (e *eviction) leave(i int) {
	for _, p := range e.able[i].places {
		e.x.Without(e.able[i].Replica, e.x.land.hosts[p.at].node.ID)
	}
}

// least is the least harmful set among replicas of a rank and those below it;
// nil when none makes room. Of profiles that ask for the same, the first wins.
func (e *eviction) least(rank int) *found {
	var best *found
	for _, profile := range e.req.profiles() {
		f := e.prove(profile, e.sets(profile, rank))
		if f != nil && (best == nil || less(f.set, f.harm, best.set, best.harm)) {
			best = f
		}
	}
	return best
}

// less orders sets: the least harm first, and of equal harm the fewest replicas.
func less(a []int, harmA float64, b []int, harmB float64) bool {
	return cmp.Or(cmp.Compare(harmA, harmB), cmp.Compare(len(a), len(b))) < 0
}

// before is less for offers, with the host or domain by number after it.
func (a offer) before(b offer) int {
	return cmp.Or(cmp.Compare(a.harm, b.harm), cmp.Compare(len(a.set), len(b.set)), cmp.Compare(a.at, b.at))
}

// prove asks Choose on a copy without the victims, for the least harmful sets.
func (e *eviction) prove(profile *catalog.Profile, sets []offer) *found {
	slices.SortStableFunc(sets, offer.before)
	req := e.req
	req.Profiles = []string{profile.Name}
	for _, s := range sets[:min(len(sets), mostProofs)] {
		var d Decision
		e.x.Try(func() {
			for _, i := range s.set {
				e.leave(i)
			}
			d, _ = e.x.Choose(req)
		})
		if d.Placed {
			return &found{decision: d, set: s.set, harm: s.harm}
		}
	}
	return nil
}

// sets are candidates for a profile: one for each host, or for a group one for
// each domain that its nodes may share.
func (e *eviction) sets(profile *catalog.Profile, rank int) []offer {
	q := newQuery(e.x.placer, e.req, profile).in(e.x.land, e.x.followed(e.req.Model).stands)
	var offers []offer
	var best *offer
	for at := range e.x.land.hosts {
		o, ok := e.offer(q, int32(at), rank, best)
		if !ok {
			continue
		}
		offers = append(offers, o)
		if profile.ShardCount() == 1 && (best == nil || less(o.set, o.harm, best.set, best.harm)) {
			best = &o
		}
	}
	shards := profile.ShardCount()
	if shards == 1 {
		return offers
	}
	if !q.bound() {
		return e.group(nil, 0, offers, shards)
	}
	by := make([][]offer, len(e.x.land.domains))
	for _, o := range offers {
		for _, d := range e.x.land.hosts[o.at].domains {
			if q.within(e.x.land.domains[d].key) {
				by[d] = append(by[d], o)
			}
		}
	}
	var out []offer
	for d := range by {
		out = e.group(out, int32(d), by[d], shards)
	}
	return out
}

// group adds the hosts of a domain that take a group with the least harm, as far
// as the floors of models allow.
func (e *eviction) group(out []offer, domain int32, offers []offer, shards int) []offer {
	slices.SortStableFunc(offers, offer.before)
	var set []int
	hosts := 0
	for _, o := range offers {
		if hosts == shards {
			break
		}
		both := slices.Concat(set, o.set)
		slices.Sort(both)
		if both = slices.Compact(both); e.within(both) {
			set, hosts = both, hosts+1
		}
	}
	if hosts < shards || len(set) == 0 {
		return out
	}
	set = spareOf(set, offers, shards)
	return append(out, offer{at: domain, set: set, harm: e.harm(set)})
}

// spareOf takes back, the most harmful first, whom a group does not need: a replica
// that leaves several of its nodes may have made others needless.
func spareOf(set []int, offers []offer, shards int) []int {
	for k := len(set) - 1; k >= 0 && len(set) > 1; k-- {
		without, hosts := slices.Delete(slices.Clone(set), k, k+1), 0
		for _, o := range offers {
			if !slices.ContainsFunc(o.set, func(i int) bool { return !slices.Contains(without, i) }) {
				hosts++
			}
		}
		if hosts >= shards {
			set = without
		}
	}
	return set
}

// within reports whether a set takes no more of a model than may leave.
func (e *eviction) within(set []int) bool {
	for n, i := range set {
		same := 1
		for _, k := range set[:n] {
			if e.able[k].Model == e.able[i].Model {
				same++
			}
		}
		if same > e.allowed[e.able[i].Model] {
			return false
		}
	}
	return true
}

func (e *eviction) harm(set []int) float64 {
	sum := 0.0
	for _, i := range set {
		sum += e.able[i].harm
	}
	return sum
}

// offer is the least harmful set of replicas without which a host has room for a
// shard. ok is false when there is none, or none that is better than best.
func (e *eviction) offer(q *query, at int32, rank int, best *offer) (o offer, ok bool) {
	if q.profile.ShardCount() == 1 && len(e.on[at]) == 0 {
		return offer{}, false
	}
	q.see(int(at))
	if q.refuseLasting().reason != "" {
		return offer{}, false
	}
	if q.profile.ShardCount() > 1 && q.refusePassing().reason == "" {
		return offer{at: at}, true
	}
	may := e.may(at, rank)
	size, enough := e.needed(q, at, may)
	if !enough || best != nil && !less(may[:size], e.leastHarm(may, size), best.set, best.harm) || !e.fits(q, at, may) {
		return offer{}, false
	}
	var set []int
	if len(may) <= mostExact && e.trials < mostTrials {
		set = e.cheapest(q, at, may, size)
	} else {
		set = e.irreducible(q, at, may)
	}
	return offer{at: at, set: set, harm: e.harm(set)}, true
}

// may are those who could leave a host, the least harmful of each model as far as
// its floor allows.
func (e *eviction) may(at int32, rank int) []int {
	var out []int
	for _, n := range e.on[at] {
		v := &e.able[n]
		if v.rank > rank || e.taken[v.Replica] {
			continue
		}
		if out = append(out, int(n)); !e.within(out) {
			out = out[:len(out)-1]
		}
	}
	return out
}

// fits reports whether a host has room for a shard without these.
func (e *eviction) fits(q *query, at int32, set []int) bool {
	e.trials++
	room := false
	e.x.Try(func() {
		n := e.x.land.hosts[at].node
		for _, i := range set {
			n = n.Without(e.able[i].Replica)
		}
		e.x.put(at, n, loadChanged)
		q.see(int(at))
		room = q.refuse().reason == ""
	})
	return room
}

// cheapest tries the sets of a size and more in order of harm, as less has it, and
// takes the first that makes room. All of them together are known to do.
func (e *eviction) cheapest(q *query, at int32, may []int, size int) []int {
	missing := e.missing(q, at)
	var tries []offer
	for mask := uint(1); mask < 1<<len(may); mask++ {
		if bits.OnesCount(mask) < size {
			continue
		}
		set := make([]int, 0, len(may))
		for k, i := range may {
			if mask>>k&1 == 1 {
				set = append(set, i)
			}
		}
		if e.frees(at, set) >= missing {
			tries = append(tries, offer{set: set, harm: e.harm(set)})
		}
	}
	slices.SortStableFunc(tries, offer.before)
	for _, t := range tries {
		if e.fits(q, at, t.set) {
			return t.set
		}
	}
	return may
}

// missing is how many devices of a host must come free at least.
func (e *eviction) missing(q *query, at int32) int {
	if q.need.shared {
		return 0 // a part of a device may be free
	}
	return q.need.devices - e.x.land.hosts[at].untouched
}

// frees is how many devices of a host a set has.
func (e *eviction) frees(at int32, set []int) int {
	n := 0
	for _, i := range set {
		n += e.able[i].devicesAt(at)
	}
	return n
}

// needed is how many of them must leave at least, by the devices they have;
// enough is false when all together have too few.
func (e *eviction) needed(q *query, at int32, may []int) (count int, enough bool) {
	missing := e.missing(q, at)
	var sizes []int
	for _, i := range may {
		sizes = append(sizes, e.able[i].devicesAt(at))
	}
	slices.SortFunc(sizes, func(a, b int) int { return b - a })
	for count < len(sizes) && missing > 0 {
		missing -= sizes[count]
		count++
	}
	return max(1, count), missing <= 0 && len(may) > 0
}

// leastHarm is what so many of them cost at least.
func (e *eviction) leastHarm(may []int, count int) float64 {
	harms := make([]float64, len(may))
	for k, i := range may {
		harms[k] = e.able[i].harm
	}
	slices.Sort(harms)
	sum := 0.0
	for _, h := range harms[:count] {
		sum += h
	}
	return sum
}

// irreducible lets all leave and takes back whom it can, the most harmful first.
func (e *eviction) irreducible(q *query, at int32, may []int) []int {
	set := slices.Clone(may)
	for k := len(set) - 1; k >= 0 && len(set) > 1; k-- {
		if without := slices.Delete(slices.Clone(set), k, k+1); e.fits(q, at, without) {
			set = without
		}
	}
	return set
}
