package placement

import (
	"cmp"
	"math/bits"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Bounds of the search. A node with more candidates than mostExact, and what is
// left when mostTrials are made, is searched greedily: all of them leave, and
// the most harmful come back while there is still room.
const (
	mostExact  = 10
	mostTrials = 50_000
	mostProofs = 16
)

// eviction is one call of Preempt at work.
type eviction struct {
	x       *Index
	req     Request
	able    []evictee            // those of lower classes, least harm first
	allowed map[catalog.Name]int // how many of a model may leave
	on      map[int32][]int      // by host: who of able stands there
	nodes   [][]inventory.NodeID // by able: where it stands
	sizes   []map[int32]int      // by able: devices it has on a host
	trials  int
}

type evictee struct {
	Occupant
	rank int
	harm float64
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
	e := &eviction{x: x, req: req, allowed: map[catalog.Name]int{}, on: map[int32][]int{}}
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

// locate finds where the candidates stand and what each is worth, and puts them
// in order.
func (e *eviction) locate() {
	type place struct {
		at      int32
		devices int
	}
	places := map[string][]place{}
	weight := map[string]float64{}
	number := map[string]bool{}
	for i := range e.able {
		number[e.able[i].Replica] = true
	}
	for at := range e.x.land.hosts {
		h := &e.x.land.hosts[at]
		for k := range h.node.Allocations {
			if a := &h.node.Allocations[k]; number[a.Replica] {
				places[a.Replica] = append(places[a.Replica], place{int32(at), len(a.Devices)})
				weight[a.Replica] += h.worth(a)
			}
		}
	}
	for i := range e.able {
		v := &e.able[i]
		v.harm = weight[v.Replica] * max(1, v.Seconds)
	}
	slices.SortFunc(e.able, func(a, b evictee) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.harm, b.harm), cmp.Compare(a.Replica, b.Replica))
	})
	e.nodes, e.sizes = make([][]inventory.NodeID, len(e.able)), make([]map[int32]int, len(e.able))
	for i := range e.able {
		e.sizes[i] = map[int32]int{}
		for _, p := range places[e.able[i].Replica] {
			if _, there := e.sizes[i][p.at]; !there {
				e.on[p.at] = append(e.on[p.at], i)
				e.nodes[i] = append(e.nodes[i], e.x.land.hosts[p.at].node.ID)
			}
			e.sizes[i][p.at] += p.devices
		}
	}
}

// worth is the part of a host that an allocation has, in devices: the most of
// its devices, its memory and its cores.
func (h *host) worth(a *inventory.Allocation) float64 {
	devices := 0.0
	for _, share := range a.Devices {
		d := h.device(share.Index)
		if share.MemoryMB > 0 && d != nil && d.of.MemoryMB > 0 {
			devices += float64(share.MemoryMB) / float64(d.of.MemoryMB)
		} else {
			devices++
		}
	}
	whole := float64(max(1, len(h.devices)))
	if h.memory.known && h.memory.all > 0 {
		devices = max(devices, whole*float64(a.MemoryMB)/float64(h.memory.all))
	}
	if h.cores.known && h.cores.all > 0 {
		devices = max(devices, whole*float64(a.Cores)/float64(h.cores.all))
	}
	return devices
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

// less orders sets by harm: the fewest replicas first.
func less(a []int, harmA float64, b []int, harmB float64) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(harmA, harmB)) < 0
}

// prove asks Choose on a copy without the victims, for the least harmful sets.
func (e *eviction) prove(profile *catalog.Profile, sets []offer) *found {
	slices.SortStableFunc(sets, func(a, b offer) int {
		return cmp.Or(cmp.Compare(len(a.set), len(b.set)), cmp.Compare(a.harm, b.harm), cmp.Compare(a.at, b.at))
	})
	req := e.req
	req.Profiles = []string{profile.Name}
	for _, s := range sets[:min(len(sets), mostProofs)] {
		var d Decision
		e.x.Try(func() {
			for _, i := range s.set {
				e.x.Without(e.able[i].Replica, e.nodes[i]...)
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
	for at := range e.x.land.hosts {
		if o, ok := e.offer(q, int32(at), rank); ok {
			offers = append(offers, o)
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
	slices.SortStableFunc(offers, func(a, b offer) int {
		return cmp.Or(cmp.Compare(len(a.set), len(b.set)), cmp.Compare(a.harm, b.harm))
	})
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
	return append(out, offer{at: domain, set: set, harm: e.harm(set)})
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
// shard; ok is false when there is none.
func (e *eviction) offer(q *query, at int32, rank int) (o offer, ok bool) {
	q.see(int(at))
	group := q.profile.ShardCount() > 1
	if q.refuseLasting().reason != "" {
		return offer{}, false
	}
	if group && q.refusePassing().reason == "" {
		return offer{at: at}, true
	}
	var may []int
	taken := map[catalog.Name]int{}
	for _, i := range e.on[at] {
		// The floor leaves the least harmful ones of a model.
		if v := &e.able[i]; v.rank <= rank && taken[v.Model] < e.allowed[v.Model] {
			may = append(may, i)
			taken[v.Model]++
		}
	}
	if len(may) == 0 || !e.fits(q, at, may) {
		return offer{}, false
	}
	set := []int(nil)
	if len(may) <= mostExact && e.trials < mostTrials {
		set = e.fewest(q, at, may)
	} else {
		set = e.irreducible(q, at, may)
	}
	return offer{at: at, set: set, harm: e.harm(set)}, true
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

// fewest tries every set, the smallest first, and of one size takes the least
// harmful. All of them together are known to do.
func (e *eviction) fewest(q *query, at int32, may []int) []int {
	for size := e.needed(q, at, may); size < len(may); size++ {
		var best []int
		least := 0.0
		for mask := uint(1); mask < 1<<len(may); mask++ {
			if bits.OnesCount(mask) != size {
				continue
			}
			set := make([]int, 0, size)
			for k, i := range may {
				if mask>>k&1 == 1 {
					set = append(set, i)
				}
			}
			if harm := e.harm(set); (best == nil || harm < least) && e.fits(q, at, set) {
				best, least = set, harm
			}
		}
		if best != nil {
			return best
		}
	}
	return may
}

// needed is how many of them must leave at least, by the devices they have.
func (e *eviction) needed(q *query, at int32, may []int) int {
	missing := q.need.devices - e.x.land.hosts[at].untouched
	var sizes []int
	for _, i := range may {
		sizes = append(sizes, e.sizes[i][at])
	}
	slices.SortFunc(sizes, func(a, b int) int { return b - a })
	count := 0
	for count < len(sizes) && missing > 0 {
		missing -= sizes[count]
		count++
	}
	return max(1, count)
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
