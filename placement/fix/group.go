package fix

import (
	"maps"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// A group finds room where enough nodes of one team have room for a shard each:
// nodes that share one network or one NVLink domain, or the whole fleet.

// team finds the teams. One shard needs none: every node is a team.
func (l *looking) team() {
	if l.profile.ShardCount() == 1 {
		for at := range l.members {
			l.teams = append(l.teams, []int{at})
		}
		return
	}
	numbers := map[int32]int{}
	for at := range l.members {
		for _, d := range l.ask.Shared(l.members[at].node.ID) {
			number, known := numbers[d]
			if !known {
				number = len(l.teams)
				numbers[d] = number
				l.teams = append(l.teams, nil)
			}
			l.teams[number] = append(l.teams[number], at)
		}
	}
}

// largest is how many nodes the largest team has.
func (l *looking) largest() int {
	most := 0
	for _, team := range l.teams {
		most = max(most, len(team))
	}
	return most
}

// gather offers the least for each team.
func (l *looking) gather() {
	shards := l.profile.ShardCount()
	for _, team := range l.teams {
		var able []*offer
		for _, at := range team {
			if o := l.members[at].least; o != nil {
				able = append(able, o)
			}
		}
		if len(able) < shards {
			continue
		}
		slices.SortStableFunc(able, (*offer).compare)
		all := l.done
		for _, o := range able[:shards] {
			all = all.with(o)
		}
		if len(all.changes) > len(l.done.changes) && len(all.changes) <= l.most() {
			l.offer(all)
		}
	}
}

// together offers changes that make room on several nodes at once: holds, and
// replicas that stand on several.
func (l *looking) together() {
	gains := map[string]*gain{}
	for at := range l.members {
		m := &l.members[at]
		if m.reason == "" {
			continue
		}
		if m.node.Held.Yes() {
			c := l.release(m.node, offerOf())
			l.gained(gains, c, at, c.on(m.node))
			continue
		}
		if !load(m.reason) {
			continue
		}
		for i := range m.node.Allocations {
			r := m.node.Allocations[i].Replica
			if o := l.standing[r]; o != nil && len(o.nodes) > 1 {
				l.gained(gains, l.stop(o), at, m.node.Without(r))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(gains)) {
		if g := gains[key]; l.enough(g.members) {
			l.offer(l.done.with(offerOf(g.change)))
		}
	}
}

// gain is a change and the members that would have room then.
type gain struct {
	change  change
	members map[int]bool
}

func (l *looking) gained(gains map[string]*gain, c change, at int, after *inventory.Node) {
	if l.asked(after) != "" {
		return
	}
	key := string(c.Do) + " " + c.Object
	if gains[key] == nil {
		gains[key] = &gain{c, map[int]bool{}}
	}
	gains[key].members[at] = true
}

// enough reports whether a team has room for the group when these members have
// room, too.
func (l *looking) enough(more map[int]bool) bool {
	shards := l.profile.ShardCount()
	for _, team := range l.teams {
		room := 0
		for _, at := range team {
			if l.members[at].reason == "" || more[at] {
				room++
			}
		}
		if room >= shards {
			return true
		}
	}
	return false
}
