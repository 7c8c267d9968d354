package placement

import (
	"math"
	"reflect"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// class is what an index remembers of one profile: the answer of every host,
// how many gave each answer, and which is the best of those with room.
type class struct {
	q      *query
	follow *followed
	// codes are the hosts' answers: zero for room, else a reason's number.
	// standing ones are those of the lasting filters alone.
	codes, static []uint8
	// said is what the lasting filters said of each kind of host, where alike:
	// where they look at nothing that parts hosts of a kind.
	said    []uint8
	alike   bool
	missing []int64   // bytes of weights that a host lacks
	base    []float64 // scores without what lies beyond the host
	best    tournament
	counts  [256]int32
	told    [256]int32 // what counts were when they were put into the trace
	// outscored and short are hosts with room that were not used, as the trace
	// has them: another was better, or too few for a group stand together.
	outscored, short int
	group            *gathering // nil for a profile of one shard

	// at and moved are how far the journals were read, scale is what the
	// model's replicas were when spread was last weighed for all.
	at, moved, scale int
	// scarce is the version of scarcities that the scores rest on.
	scarce int
	// stamps and priced mark hosts and domains that were looked at in this round.
	stamps, priced []uint32
	stamp          uint32

	excluded []answer
	trace    ProfileTrace
	spots    []member
}

// answer is what a host said, to be put back.
type answer struct {
	at    int32
	code  uint8
	total float64
}

// class finds what is remembered of a profile, or starts to.
func (x *Index) class(m *catalog.Model, p *catalog.Profile) *class {
	if c := x.recent[p]; c != nil && c.q.model == m {
		return c
	}
	key := classKey{m.Name, p.Name}
	c := x.classes[key]
	if c != nil {
		delete(x.recent, c.q.profile)
	}
	if c != nil && reflect.DeepEqual(c.q.model, m) {
		c.q.model, c.q.profile = m, p
	} else {
		c = newClass(x, m, p)
	}
	x.classes[key], x.recent[p] = c, c
	return c
}

// classFor is the class of a request's profile. It remembers what the request
// stays away from and what was measured; others cost a look at every host.
func (x *Index) classFor(req Request, p *catalog.Profile) *class {
	c := x.class(req.Model, p)
	if !slices.Equal(c.q.apart, req.Apart) || c.q.speeds != req.Speeds {
		c.q.apart, c.q.speeds = slices.Clone(req.Apart), req.Speeds
		c.at = x.first - 1 // as if it had not read for long
	}
	return c
}

// followed counts a model's replicas from now on.
func (x *Index) followed(m *catalog.Model) *followed {
	f := x.models[m.Name]
	if f != nil && f.model == m {
		return f
	}
	if f == nil || !slices.Equal(f.stands.levels, levelsOf(m)) {
		if f != nil {
			f.over = true
		}
		f = &followed{stands: newStanding(x.land, m)}
		x.models[m.Name] = f
	}
	f.model = m
	return f
}

func newClass(x *Index, m *catalog.Model, p *catalog.Profile) *class {
	hosts := len(x.land.hosts)
	f := x.followed(m)
	c := &class{
		q:      newQuery(x.placer, Request{Model: m}, p).in(x.land, f.stands),
		follow: f,
		codes:  make([]uint8, hosts), static: make([]uint8, hosts), missing: make([]int64, hosts), base: make([]float64, hosts),
		best: newTournament(hosts), stamps: make([]uint32, hosts), priced: make([]uint32, len(x.land.domains)),
	}
	c.q.brief = true
	c.trace = ProfileTrace{Profile: p.Name, Looked: hosts, Counts: map[Reason]int{}}
	c.counts[0] = int32(hosts)
	c.alike = len(c.q.labels) == 0 && (p.Fabric == "" || p.Fabric == anyFabric)
	if p.ShardCount() > 1 {
		c.group = newGathering(c.q)
	}
	c.readAll(x)
	return c
}

// readAll asks every host anew.
func (c *class) readAll(x *Index) {
	for at := range c.codes {
		c.askAll(x, int32(at))
	}
	s := c.follow.stands
	c.at, c.moved, c.scale = x.first+len(x.journal), s.first+len(s.moved), s.scale()
	c.scarce = x.land.scarcities.version
}

// catchUp asks those hosts whose answer may have changed since the last time.
func (c *class) catchUp(x *Index) {
	if c.follow.over || c.follow.model != c.q.model {
		if f := x.followed(c.q.model); f != c.follow {
			c.follow, c.q.stands, c.scale = f, f.stands, 0
		}
	}
	s := &x.land.scarcities
	if s.stale {
		s.weigh(x.land.measurer)
	}
	if c.at < x.first || c.q.choosy() && c.scarce != s.version {
		c.readAll(x)
		return
	}
	c.stamp++
	journal := x.journal[c.at-x.first:]
	for _, e := range journal {
		switch {
		case e.kind == priceChanged:
			c.repriced(x, e.at)
		case e.kind == nodeChanged:
			c.askAll(x, e.at)
		case c.static[e.at] == 0 && c.stamps[e.at] != c.stamp:
			c.stamps[e.at] = c.stamp
			c.askLoad(e.at)
		}
	}
	c.at = x.first + len(x.journal)
	c.spread(x)
}

// repriced weighs vacant hosts of a domain again.
func (c *class) repriced(x *Index, domain int32) {
	if c.group != nil {
		if n := c.group.number[domain]; n >= 0 {
			c.group.domains[n].stale = true
		}
		return
	}
	if !c.q.opens() || c.priced[domain] == c.stamp {
		return
	}
	c.priced[domain] = c.stamp
	d := &x.land.domains[domain]
	for _, at := range d.members {
		if c.codes[at] == 0 && x.land.hosts[at].vacant {
			c.weigh(at)
		}
	}
}

// spread weighs again what the model's replicas have changed.
func (c *class) spread(x *Index) {
	s := c.follow.stands
	if c.scale == 0 || c.moved < s.first {
		for at := range c.codes {
			c.reconsider(int32(at))
		}
		c.moved, c.scale = s.first+len(s.moved), s.scale()
		return
	}
	for ; c.moved < s.first+len(s.moved); c.moved++ {
		at := s.moved[c.moved-s.first]
		c.reconsider(at)
		c.nearby(s.plans[0], at)
		if sp := c.q.profile.Spread; sp != nil && sp.Level != inventory.LevelRack && sp.Level != inventory.LevelNode {
			c.nearby(x.land.plan(sp.Level), at)
		}
	}
	if scale := s.scale(); scale != c.scale {
		c.scale = scale
		c.rescale(s)
	}
}

// rescale weighs again where replicas of the model stand: elsewhere it does not
// matter how many there are.
func (c *class) rescale(s *standing) {
	if s.nodes == nil {
		return
	}
	for at, count := range s.nodes {
		if count > 0 {
			c.reconsider(int32(at))
		}
	}
	for rack, count := range s.counts[0] {
		if count > 0 {
			for _, at := range s.plans[0].members[rack] {
				c.reconsider(at)
			}
		}
	}
}

// nearby weighs the hosts again that share a domain with one.
func (c *class) nearby(p *plan, at int32) {
	if number := p.of[at]; number >= 0 {
		for _, o := range p.members[number] {
			c.reconsider(o)
		}
	}
}

// reconsider takes it that only the model's other replicas have changed.
func (c *class) reconsider(at int32) {
	sp := c.q.profile.Spread
	switch bounded := sp != nil && sp.MaxPerDomain > 0; {
	case bounded && c.static[at] == 0:
		c.askLoad(at)
	case !bounded && c.codes[at] == 0:
		c.weigh(at)
	}
}

// askAll asks a host everything.
func (c *class) askAll(x *Index, at int32) {
	c.q.see(int(at))
	c.static[at] = x.kinds.ask(c, at)
	if c.static[at] != 0 {
		c.put(at, c.static[at], math.Inf(-1))
		return
	}
	c.missing[at] = c.q.lacks()
	c.askLoad(at)
}

// askLoad asks a host what changes with load.
func (c *class) askLoad(at int32) {
	c.q.see(int(at))
	c.q.missing = c.missing[at]
	if r := c.q.refusePassing(); r.reason != "" {
		c.put(at, c.code(r.reason), math.Inf(-1))
		return
	}
	c.base[at] = c.q.base()
	c.put(at, 0, c.q.beyond(c.base[at]))
}

// weigh takes it that the host's base still holds.
func (c *class) weigh(at int32) {
	c.q.see(int(at))
	c.put(at, 0, c.q.beyond(c.base[at]))
}

func (c *class) put(at int32, code uint8, total float64) {
	old := c.codes[at]
	if old != code {
		c.counts[old]--
		c.counts[code]++
		c.codes[at] = code
	}
	if c.group != nil && (old == 0 || code == 0) {
		c.group.changed(c.q, at, old, code)
	}
	c.best.put(at, total)
}

// exclude leaves a host out of the next choice.
func (c *class) exclude(at int32) {
	code := c.codes[at]
	if code != 0 && slices.Contains(beforeAvoidance, c.reason(code)) {
		return
	}
	c.excluded = append(c.excluded, answer{at, code, c.best.total(at)})
	c.put(at, c.code(Excluded), math.Inf(-1))
}

// include takes them in again.
func (c *class) include() {
	for _, a := range c.excluded {
		c.put(a.at, a.code, a.total)
	}
	c.excluded = c.excluded[:0]
}

// choose finds the best host, or hosts, and says in the trace what all said.
func (c *class) choose() []Spot {
	shards := c.q.profile.ShardCount()
	c.count(0)
	room := int(c.counts[0])
	if c.group != nil {
		chosen := c.gather(shards)
		if chosen == nil {
			c.tell(GroupShape, room)
			return nil
		}
		c.count(shards)
		spots := make([]Spot, 0, shards)
		for _, m := range chosen {
			spots = append(spots, c.spot(m.at))
		}
		return spots
	}
	at := c.best.winner()
	if at < 0 {
		return nil
	}
	c.count(1)
	return []Spot{c.spot(at)}
}

func (c *class) spot(at int32) Spot {
	c.q.see(int(at))
	c.q.missing = c.missing[at]
	return c.q.spot()
}
