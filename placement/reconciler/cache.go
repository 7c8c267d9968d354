package reconciler

import (
	"cmp"
	"maps"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// Cache is what a step has worked out and the next one need not work out again.
// It changes no answer: a step without one takes longer and says the same. It is
// its caller's own, for one reconciler and one call at a time. After a panic
// throw it away.
//
// It knows what it has seen by the place in memory: snapshots, catalogs and
// lists of replicas are never changed once a step was given them.
type Cache struct {
	index *placement.Index
	mix   placement.Mix
	// prepared is how many models were prepared for later steps.
	prepared int

	// The groups are made of a catalog and a list of replicas, and what is known
	// of those of a list of nodes.
	catalog  *catalog.Index
	replicas []Replica
	groups   []*group // by name, those of the catalog first
	byName   map[catalog.Name]*group
	turns    []*group // the same in the order of the step
	units    []unit

	nodes []*inventory.Node
	marks []mark // by node
	// other are the nodes that are others than in the step before. again are
	// those that the next step has to look at even if they are not.
	other []bool
	again []int32

	// paces are the speeds of models, each where it was: an index asks all nodes
	// anew for others.
	paces map[catalog.Name]paces

	health  map[catalog.Name]ModelHealth
	told    []ModelHealth // by turn
	wanted  []placement.Wanted
	mixedOf placement.Mix
	mixed   placement.Mix
}

// mark is what was found on a node.
type mark uint8

const (
	quiet   mark = 1 << iota // it is not heard
	carried                  // what stands there is to be carried out
	strayed                  // it runs a shard that no replica explains
)

// sameSlice reports whether two slices are one.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// makeGroups sorts everything that is known by model: definitions, and replicas,
// of removed models too.
func (s *step) makeGroups() {
	c := s.cache
	if c.byName == nil || c.catalog != s.w.Catalog || !sameSlice(c.replicas, s.w.Replicas) {
		c.regroup(s.w.Catalog, s.w.Replicas)
	}
	for i := range c.units {
		u := &c.units[i]
		*u = unit{Replica: &c.replicas[i], homes: u.homes, held: u.held, state: u.state}
	}
	for _, g := range c.groups {
		*g = group{name: g.name, entry: g.entry, own: g.own, units: g.units[:g.own], mem: s.mem.Models[g.name]}
	}
	slices.SortFunc(c.turns, turn)
	s.groups = c.turns
}

// regroup makes the groups of other definitions or replicas.
func (c *Cache) regroup(index *catalog.Index, replicas []Replica) {
	entries := index.Entries()
	c.renew(replicas)
	c.catalog = index
	c.byName = make(map[catalog.Name]*group, len(entries))
	c.groups = c.groups[:0]
	get := func(name catalog.Name) *group {
		g := c.byName[name]
		if g == nil {
			g = &group{name: name}
			c.byName[name] = g
			c.groups = append(c.groups, g)
		}
		return g
	}
	for i := range entries {
		get(entries[i].Model.Name).entry = &entries[i]
	}
	var last *group
	for i := range replicas {
		if last == nil || last.name != replicas[i].Model {
			last = get(replicas[i].Model)
		}
		last.units = append(last.units, &c.units[i])
		last.own++
	}
	c.turns = slices.Clone(c.groups)
	maps.DeleteFunc(c.paces, func(name catalog.Name, _ paces) bool { return c.byName[name] == nil })
}

// renew takes another list of replicas. What is known of one holds while nothing
// is ordered of it that its state depends on.
func (c *Cache) renew(replicas []Replica) {
	units, k := make([]unit, len(replicas)), 0
	for i := range replicas {
		for k < len(c.replicas) && c.replicas[k].ID < replicas[i].ID {
			k++
		}
		if k == len(c.replicas) {
			break
		}
		if was, r := &c.replicas[k], &replicas[i]; was.ID == r.ID && was.Phase == r.Phase && sameSlice(was.Shards, r.Shards) {
			u := &c.units[k]
			units[i] = unit{homes: u.homes, held: u.held, state: u.state}
		}
	}
	c.replicas, c.units = replicas, units
}

// see looks at the nodes that are others than in the step before, and at the
// replicas that stand there.
func (s *step) see() {
	c, nodes := s.cache, s.w.Fleet.Nodes()
	s.nodes, s.fleet = nodes, s.w.Fleet
	if len(c.nodes) != len(nodes) || c.nodes == nil || !c.compare(nodes) {
		c.settleIn(len(nodes))
	}
	c.nodes = nodes
	for _, at := range c.again {
		c.other[at] = true
	}
	var missing []inventory.Allocation
	for i := range c.units {
		u := &c.units[i]
		if u.state == "" {
			s.findHomes(u)
		}
		if c.touched(u) {
			u.state, u.held = s.stateOf(u), s.isHeld(u)
		}
		if !u.held {
			missing = s.lacking(missing, u)
		}
	}
	c.again = c.again[:0]
	if len(missing) > 0 {
		s.fleet = s.w.Fleet.With(missing...)
		for i := range missing {
			if at := s.at(missing[i].Node); at >= 0 {
				c.other[at] = true
				c.again = append(c.again, at)
			}
		}
	}
	for i, other := range c.other {
		if other {
			c.marks[i] = markOf(s.fleet.Nodes()[i])
		}
	}
}

// compare notes which nodes are others than before; false when others came, or
// some left.
func (c *Cache) compare(nodes []*inventory.Node) bool {
	if sameSlice(c.nodes, nodes) {
		clear(c.other)
		return true
	}
	for i, n := range nodes {
		was := c.nodes[i]
		if c.other[i] = n != was; n != was && n.ID != was.ID {
			return false
		}
	}
	return true
}

// settleIn begins anew with so many nodes: nothing is known of them.
func (c *Cache) settleIn(nodes int) {
	c.again = c.again[:0]
	c.marks, c.other = make([]mark, nodes), make([]bool, nodes)
	for i := range c.other {
		c.other[i] = true
	}
	for i := range c.units {
		c.units[i].state = "" // not looked at yet
	}
}

// findHomes finds the nodes of the unit's shards.
func (s *step) findHomes(u *unit) {
	u.homes = make([]int32, len(u.Shards))
	for i := range u.Shards {
		u.homes[i] = s.at(u.Shards[i].Spot.Node)
	}
}

// nowhere is the home of a shard on a node that is not known.
const nowhere = -1

// touched reports whether the unit was not looked at yet, or one of its nodes is
// another than before.
func (c *Cache) touched(u *unit) bool {
	if u.state == "" {
		return true
	}
	for _, at := range u.homes {
		if at >= 0 && c.other[at] {
			return true
		}
	}
	return false
}

// home is the node of the unit's shard, or nil when it is not known.
func (s *step) home(u *unit, shard int) *inventory.Node {
	if at := u.homes[shard]; at >= 0 {
		return s.nodes[at]
	}
	return nil
}

// at is a node's number.
func (s *step) at(id inventory.NodeID) int32 {
	at, known := slices.BinarySearchFunc(s.nodes, id, func(n *inventory.Node, id inventory.NodeID) int {
		return cmp.Compare(n.ID, id)
	})
	if !known {
		return nowhere
	}
	return int32(at)
}

// isHeld reports whether the fleet shows the room of all shards of a unit whose
// nodes are known.
func (s *step) isHeld(u *unit) bool {
	for i := range u.Shards {
		if n := s.home(u, i); n != nil && !holds(n, u.Shards[i].Spot.Shard) {
			return false
		}
	}
	return true
}

// lacking adds the room of a unit's shards that the fleet does not show.
func (s *step) lacking(missing []inventory.Allocation, u *unit) []inventory.Allocation {
	for i := range u.Shards {
		if n := s.home(u, i); n != nil && !holds(n, u.Shards[i].Spot.Shard) {
			missing = append(missing, u.Shards[i].Spot)
		}
	}
	return missing
}

func markOf(n *inventory.Node) mark {
	var m mark
	if n.Hearing != inventory.Heard {
		m |= quiet
	}
	if n.Held.Out {
		m |= carried
	}
	if n.Hearing == inventory.Heard && slices.ContainsFunc(n.Shards, func(st inventory.ShardStatus) bool { return strays(n, &st) }) {
		m |= strayed
	}
	return m
}

// marked are the nodes with a mark.
func (s *step) marked(m mark) func(yield func(n *inventory.Node) bool) {
	return func(yield func(n *inventory.Node) bool) {
		for i, has := range s.cache.marks {
			if has&m != 0 && !yield(s.fleet.Nodes()[i]) {
				return
			}
		}
	}
}
