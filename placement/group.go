package placement

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// A group is one replica whose shards run on different nodes: tensor, pipeline
// or data parallel over what they share, which is one physical network or one
// NVLink domain, or the fleet where the profile asks for neither. Of the domains
// with room, the one is taken in which that costs least: the hosts' own losses,
// and what is spoiled for other groups. The first node by id leads the group.

// member is a host that could take a shard.
type member struct {
	at    int32
	total float64
}

// lookForGroup asks every host for one shard, and then every domain for all.
func (q *query) lookForGroup(t ProfileTrace, shards int) ([]Spot, ProfileTrace) {
	passed := make([]member, 0, len(q.land.hosts))
	for at := range q.land.hosts {
		q.see(at)
		if r := q.refuse(); r.reason != "" {
			t.reject(q, r)
			continue
		}
		passed = append(passed, member{int32(at), q.score()})
	}
	chosen, most := q.gather(passed, shards)
	if chosen == nil {
		for _, m := range passed {
			q.see(int(m.at))
			t.reject(q, q.refuseGroup(shards, most))
		}
		t.inOrder()
		return nil, t
	}
	t.Chosen = shards
	if more := len(passed) - shards; more > 0 {
		t.Counts[Outscored] = more
	}
	spots := make([]Spot, 0, shards)
	for _, m := range chosen {
		q.see(int(m.at))
		if len(t.Best) < MaxBest {
			t.Best = append(t.Best, q.explain())
		}
		spots = append(spots, q.spot())
	}
	return spots, t
}

// refuseGroup is why hosts with room for a shard are not used.
func (q *query) refuseGroup(shards, most int) refusal {
	return refusal{reason: GroupShape, need: int64(shards), have: int64(most), unit: "nodes", text: fmt.Sprintf(
		"has room for a shard, but %d nodes of %s are needed, and no more than %d have room", shards, q.shared(), most)}
}

// shared is what the nodes of a group share, for people.
func (q *query) shared() string {
	switch {
	case q.profile.NVLinkDomain:
		return "one NVLink domain"
	case q.profile.Fabric == anyFabric:
		return "one fabric"
	case q.profile.Fabric != "":
		return "fabric " + q.profile.Fabric
	}
	return "the fleet"
}

// gather finds the best domain's best hosts, in order of id. most is the most
// hosts with room that any domain has.
func (q *query) gather(passed []member, shards int) (chosen []member, most int) {
	if !q.bound() {
		if len(passed) < shards {
			return nil, len(passed)
		}
		chosen, _ = cheapest(passed, shards, nil)
		return chosen, len(passed)
	}
	by := map[int32][]member{}
	for _, m := range passed {
		for _, d := range q.land.hosts[m.at].domains {
			if q.within(q.land.domains[d].key) {
				by[d] = append(by[d], m)
			}
		}
	}
	best := 0.0
	for d := range q.land.domains {
		in := by[int32(d)]
		most = max(most, len(in))
		if len(in) < shards {
			continue
		}
		group, total := cheapest(in, shards, nil)
		total -= q.groupLoss(&q.land.domains[d], group, len(in))
		if chosen == nil || total > best {
			chosen, best = group, total
		}
	}
	return chosen, most
}

// bound reports whether the shards must share anything.
func (q *query) bound() bool { return q.profile.NVLinkDomain || q.profile.Fabric != "" }

// cheapest are the hosts with the best scores, ties by id, in order of id. of
// is in that order.
func cheapest(of []member, count int, buf []member) (chosen []member, total float64) {
	chosen = buf[:0]
	for _, m := range of {
		at := len(chosen)
		for at > 0 && m.total > chosen[at-1].total {
			at--
		}
		if at == count {
			continue
		}
		if len(chosen) == count {
			chosen = chosen[:count-1]
		}
		chosen = slices.Insert(chosen, at, m)
	}
	slices.SortFunc(chosen, func(a, b member) int { return int(a.at - b.at) })
	for _, m := range chosen {
		total += m.total
	}
	return chosen, total
}

// groupLoss is what a group spoils for others in a domain in which so many hosts
// have room for a shard, and how far apart its shards are. Of equals it takes
// the smallest.
func (q *query) groupLoss(d *domain, group []member, room int) float64 {
	racks := 0
	of := q.land.plan(inventory.LevelRack).of
	for i, m := range group {
		if i == 0 || of[m.at] != of[group[i-1].at] {
			racks++
		}
	}
	return patience * (q.land.grouping(d, group) + crowding*float64(min(room, mostCrowded)) + farApart*float64(racks-1))
}
