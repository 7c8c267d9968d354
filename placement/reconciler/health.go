package reconciler

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
)

// tell writes down what people are shown of a model. One that is gone from the
// catalog has no health.
func (s *step) tell(g *group) {
	if g.entry == nil {
		return
	}
	m := &g.mem
	h := ModelHealth{
		Desired: g.target.n, Why: g.target.why, Failures: m.Failures, Parked: m.Parked,
		Reason: m.Reason, Cause: m.Cause, Clamps: g.target.clamps,
	}
	if m.Parked {
		h.Why = WhyParked
	} else if m.RetryAt.After(s.now) {
		h.RetryAt = m.RetryAt
	}
	h.Ready, h.Total = g.count()
	h.Coming = g.coming
	if h.Coming > 0 && !g.waits {
		h.Clamps = append(h.Clamps, fmt.Sprintf("It waits for room that other replicas are leaving, for %d of its own.", h.Coming))
	}
	s.tellUnplaceable(g, &h)
	s.tellPreempted(g, &h)
	g.tellRollout(&h)
	g.tellMoves(&h)
	s.tellKept(g, &h)
	g.health, g.told = len(s.cache.told), true
	s.cache.told = append(s.cache.told, h)
	if g.trace != nil {
		if s.plan.Traces == nil {
			s.plan.Traces = map[catalog.Name]placement.Trace{}
		}
		s.plan.Traces[g.name] = *g.trace
	}
}

// healthOf is what was told of the groups, by name: the map of the step before
// while nothing in it is another.
func (c *Cache) healthOf(groups []*group) map[catalog.Name]ModelHealth {
	same := c.health != nil && len(c.health) == len(c.told)
	for _, g := range groups {
		if same && g.entry != nil {
			was, had := c.health[g.name]
			same = had && was.same(&c.told[g.health])
		}
	}
	if !same {
		c.health = make(map[catalog.Name]ModelHealth, len(c.told))
		for _, g := range groups {
			if g.entry != nil {
				c.health[g.name] = c.told[g.health]
			}
		}
	}
	return c.health
}

// same reports whether two healths say the same.
func (h *ModelHealth) same(o *ModelHealth) bool {
	return h.Desired == o.Desired && h.Why == o.Why && h.Ready == o.Ready && h.Total == o.Total &&
		h.Failures == o.Failures && h.Parked == o.Parked && h.Reason == o.Reason && h.Cause == o.Cause &&
		h.Unplaceable == o.Unplaceable && h.Coming == o.Coming && h.Preempted == o.Preempted &&
		h.HeldFor == o.HeldFor && h.RetryAt.Equal(o.RetryAt) && slices.Equal(h.Clamps, o.Clamps)
}

// count is how many replicas are ready, and how many hold capacity.
func (g *group) count() (ready, total int) {
	for _, u := range g.units {
		if !u.live() {
			continue
		}
		switch u.state {
		case StateReady:
			ready++
			total++
		case StatePending, StateFetching, StateStarting:
			total++
		case StateDraining, StateStopped, StateFailed, StateLost:
		}
	}
	return ready, total
}

// tellUnplaceable says whether the model is short for want of room, and tells so
// once. While its next start waits, the last attempt still stands. A model that
// is only short of replacements serves as before and is not meant, and one whose
// room is on its way is not without room.
func (s *step) tellUnplaceable(g *group, h *ModelHealth) {
	short := h.Total+g.coming < h.Desired
	h.Unplaceable = short && (g.refused || (g.waits && g.mem.Unplaceable))
	if h.Unplaceable && !g.mem.Unplaceable {
		s.event(EventUnplaceable, g, nil, "", fmt.Sprintf("Model %s is short of replicas and no node has room; ask explain-placement why.", g.name))
	}
	g.mem.Unplaceable = h.Unplaceable
}
