package placement

import "slices"

// count fills in the trace: only what has changed since it was last told.
func (c *class) count(chosen int) {
	t := &c.trace
	t.Chosen = chosen
	codes := 1 + len(reasons) + min(len(c.q.placer.Filters), mostFilters+1)
	if !slices.Equal(c.told[1:codes], c.counts[1:codes]) {
		c.told = c.counts
		clear(t.Counts)
		c.outscored, c.short = 0, 0
		for code := 1; code < codes; code++ {
			if n := c.counts[code]; n > 0 {
				t.Counts[c.reason(uint8(code))] += int(n)
			}
		}
	}
	more := int(c.counts[0]) - chosen
	if chosen == 0 {
		more = 0
	}
	c.tell(GroupShape, 0)
	c.tell(Outscored, more)
}

// tell puts into the trace how many hosts were not used though they have room.
func (c *class) tell(r Reason, hosts int) {
	has := &c.outscored
	if r == GroupShape {
		has = &c.short
	}
	switch {
	case *has == hosts:
		return
	case hosts == 0:
		delete(c.trace.Counts, r)
	default:
		c.trace.Counts[r] = hosts
	}
	*has = hosts
}

// mostFilters is how many of an embedder's filters are counted apart.
const mostFilters = 200

// code is a reason as a small number: the built-in ones by the list, then the
// placer's own filters.
func (c *class) code(r Reason) uint8 {
	if r == "" {
		return 0
	}
	for i := range reasons {
		if reasons[i].reason == r {
			return uint8(i + 1)
		}
	}
	for i := range c.q.placer.Filters {
		if r == customPrefix+Reason(c.q.placer.Filters[i].Name) {
			return uint8(len(reasons) + 1 + min(i, mostFilters))
		}
	}
	return uint8(len(reasons) + 1 + mostFilters)
}

func (c *class) reason(code uint8) Reason {
	if int(code) <= len(reasons) {
		return reasons[code-1].reason
	}
	return customPrefix + Reason(c.q.placer.Filters[int(code)-len(reasons)-1].Name)
}
