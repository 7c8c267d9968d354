package placement

import (
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// standing is where a model's replicas stand already. A replica with several
// shards in one domain counts once there.
type standing struct {
	total  int
	levels []inventory.Level // beside the node, the rack first
	plans  []*plan           // of the levels
	counts [][]int32         // by level, then by domain of the plan
	nodes  []int32           // by host
	where  map[string]stood
	// moved are the hosts at which something came or went, in order; the first
	// has the number first. Only an index keeps it.
	moved []int32
	first int
}

func newStanding(l *landscape, m *catalog.Model) *standing {
	s := &standing{levels: levelsOf(m)}
	for _, level := range s.levels {
		s.plans = append(s.plans, l.plan(level))
	}
	for i := range l.hosts {
		as := l.hosts[i].node.Allocations
		for k := range as {
			if as[k].Model == string(m.Name) {
				s.add(l, int32(i), as[k].Replica, 1)
			}
		}
	}
	return s
}

// levelsOf are the levels at which a model's replicas are counted.
func levelsOf(m *catalog.Model) []inventory.Level {
	out := []inventory.Level{inventory.LevelRack}
	for i := range m.Profiles {
		if sp := m.Profiles[i].Spread; sp != nil && sp.Level != inventory.LevelNode && !slices.Contains(out, sp.Level) {
			out = append(out, sp.Level)
		}
	}
	return out
}

// stood are the hosts of a replica, one for each shard; most have one.
type stood struct {
	first int32
	any   bool // first is one of them
	rest  []int32
}

// has reports whether a host, or another of its domain, is among them. of is
// the domain of each host; nil asks for the host.
func (at *stood) has(host int32, of []int32) bool {
	same := func(o int32) bool { return o == host || of != nil && of[o] == of[host] }
	return at.any && same(at.first) || slices.ContainsFunc(at.rest, same)
}

// leave takes one of a host's shards away, if there is one.
func (at *stood) leave(host int32) bool {
	if i := slices.Index(at.rest, host); i >= 0 {
		at.rest = slices.Delete(at.rest, i, i+1)
		return true
	}
	was := at.any && at.first == host
	at.any = at.any && !was
	return was
}

func (at *stood) come(host int32) {
	if at.any {
		at.rest = append(at.rest, host)
		return
	}
	at.first, at.any = host, true
}

func (at *stood) none() bool { return !at.any && len(at.rest) == 0 }

// add counts a shard of a replica on a host, or takes it away.
func (s *standing) add(l *landscape, host int32, replica string, by int32) {
	if s.where == nil {
		s.where = map[string]stood{}
		s.nodes = make([]int32, len(l.hosts))
		for _, p := range s.plans {
			s.counts = append(s.counts, make([]int32, len(p.members)))
		}
	}
	at := s.where[replica]
	if by < 0 && !at.leave(host) {
		return
	}
	if !at.has(host, nil) {
		s.nodes[host] += by
	}
	for i, p := range s.plans {
		if number := p.of[host]; number >= 0 && !at.has(host, p.of) {
			s.counts[i][number] += by
		}
	}
	if at.none() {
		s.total += int(by)
	}
	if by > 0 {
		at.come(host)
	}
	if at.none() {
		delete(s.where, replica)
	} else {
		s.where[replica] = at
	}
}

// note keeps that something came or went on a host. Who has not read for long
// will weigh every host again.
func (s *standing) note(host int32, hosts int) {
	if most := hosts + 1024; len(s.moved) >= most {
		s.first += len(s.moved)
		s.moved = s.moved[:0]
	}
	s.moved = append(s.moved, host)
}

// at is how many replicas stand in the host's domain of a level; known is false
// where the host does not say its domain.
func (s *standing) at(host int, level inventory.Level) (count int32, known bool) {
	if level == inventory.LevelNode {
		if s.nodes == nil {
			return 0, true
		}
		return s.nodes[host], true
	}
	return s.in(slices.Index(s.levels, level), host)
}

// rack is the count in the host's rack.
func (s *standing) rack(host int) (count int32, known bool) { return s.in(0, host) }

func (s *standing) in(level, host int) (count int32, known bool) {
	if level < 0 || s.plans[level].of[host] < 0 {
		return 0, false
	}
	if s.nodes == nil {
		return 0, true
	}
	return s.counts[level][s.plans[level].of[host]], true
}

// scale is the number of replicas, to a power of two: a slow measure of what
// one of them is worth to the model.
func (s *standing) scale() int {
	scale := 1
	for scale*2 <= s.total {
		scale *= 2
	}
	return scale
}
