package placement

import "math"

// gathering is what a class of groups remembers of every domain: how many of
// its hosts have room for a shard, and the cheapest of them.
type gathering struct {
	domains []gathered // those that the profile's shards may share
	number  []int32    // of a domain of the landscape in that list; -1 for none
}

type gathered struct {
	domain int32
	room   int
	// stale says that best and total have to be worked out again.
	stale bool
	best  []member
	total float64
}

func newGathering(q *query) *gathering {
	g := &gathering{number: make([]int32, len(q.land.domains))}
	for d := range q.land.domains {
		g.number[d] = -1
		if dom := &q.land.domains[d]; q.bound() && q.within(dom.key) {
			g.number[d] = int32(len(g.domains))
			// Every host has room until it is asked, as in the class.
			g.domains = append(g.domains, gathered{domain: int32(d), room: len(dom.members), stale: true})
		}
	}
	return g
}

// changed notes that a host's answer is another.
func (g *gathering) changed(q *query, at int32, old, code uint8) {
	for _, d := range q.land.hosts[at].domains {
		n := g.number[d]
		if n < 0 {
			continue
		}
		in := &g.domains[n]
		in.stale = true
		switch {
		case old == 0 && code != 0:
			in.room--
		case old != 0 && code == 0:
			in.room++
		}
	}
}

// gather is query.gather with what is remembered.
func (c *class) gather(shards int) []member {
	if !c.q.bound() {
		return c.gatherAnywhere(shards)
	}
	var chosen []member
	best := 0.0
	for i := range c.group.domains {
		in := &c.group.domains[i]
		if in.room < shards {
			continue
		}
		if in.stale {
			c.refresh(in, shards)
		}
		if chosen == nil || in.total > best {
			chosen, best = in.best, in.total
		}
	}
	return chosen
}

func (c *class) refresh(in *gathered, shards int) {
	c.spots = c.spots[:0]
	for _, at := range c.q.land.domains[in.domain].members {
		if c.codes[at] == 0 {
			c.spots = append(c.spots, member{at, c.best.total(at)})
		}
	}
	in.best, in.total = cheapest(c.spots, shards, in.best)
	in.total -= c.q.groupLoss(&c.q.land.domains[in.domain], in.best, in.room)
	in.stale = false
}

// gatherAnywhere takes the best hosts of the whole fleet.
func (c *class) gatherAnywhere(shards int) []member {
	if int(c.counts[0]) < shards {
		return nil
	}
	c.spots = c.spots[:0]
	for range shards {
		at := c.best.winner()
		m := member{at, c.best.total(at)}
		c.spots = append(c.spots, m)
		c.best.put(at, math.Inf(-1))
	}
	for _, m := range c.spots {
		c.best.put(m.at, m.total)
	}
	chosen, _ := cheapest(c.spots, shards, nil)
	return chosen
}
