package fleetsim

import (
	"fmt"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// ConvergeWithin is how long after everything is whole again what runs is what
// is wanted; restsFor is how long nothing more happens then.
const (
	ConvergeWithin = 120 * time.Second
	restsFor       = 5 * time.Minute
)

// wholeAgain is when everything that events break is whole again.
func (s *sim) wholeAgain() time.Time {
	var last time.Duration
	for i := range s.sc.events {
		e := &s.sc.events[i]
		end := e.after
		if verbs()[e.verb].heals {
			end += e.span
		}
		last = max(last, end)
	}
	return Begin().Add(last + time.Second)
}

// expectHealing makes everything whole at a time, and looks whether the rest
// follows.
func (s *sim) expectHealing() {
	at := s.wholeAgain()
	s.at(at, s.heal)
	s.at(at, func() { s.expectConvergence(at.Add(ConvergeWithin)) })
	if rest := at.Add(ConvergeWithin + 2*restsFor); rest.Before(s.end) {
		s.end = rest
	}
}

// heal is the end of all trouble: nothing is cut off, held, cordoned or broken,
// and nobody asks for anything any more.
func (s *sim) heal() {
	s.router.calm = true
	clear(s.broken)
	for _, a := range s.order {
		a.cutUntil = time.Time{}
		a.spoil("")
		a.powered = true
		a.boot()
	}
	s.admin(func(c *control) error {
		for _, n := range c.fleet.Snapshot().Nodes() {
			if err := c.fleet.setWish(n.ID, inventory.WishReady); err != nil {
				return err
			}
		}
		for _, h := range c.fleet.Snapshot().Holds() {
			if err := c.fleet.unhold(h.Domain, s.now); err != nil {
				return err
			}
		}
		return nil
	})
	for _, name := range sortedNames(s.entries) {
		s.order1(reconciler.Order{Retry: name})
	}
}

// expectConvergence looks every second, and when the time is over says what is
// not as it should be.
func (s *sim) expectConvergence(by time.Time) {
	why := s.diverged()
	switch {
	case why == "":
		s.report.Converged = s.now.Sub(by.Add(-ConvergeWithin))
		s.at(s.end.Add(-time.Nanosecond), s.expectRest)
	case s.now.Before(by):
		s.after(time.Second, func() { s.expectConvergence(by) })
	default:
		s.violate("converge", "%s after everything was whole again, %s", ConvergeWithin, why)
	}
}

// diverged says what is not as it is wanted. Empty: nothing.
func (s *sim) diverged() string {
	c := s.control
	if !c.isUp() || !c.fresh {
		return "no control plane leads"
	}
	ordered := map[inventory.NodeID]map[string]bool{}
	for i := range c.replicas {
		r := &c.replicas[i]
		if st := reconciler.StateOf(r, c.fleet.Snapshot()); r.Phase != reconciler.Run || st != reconciler.StateReady {
			return fmt.Sprintf("replica %s is to %s and is %s", r.ID, r.Phase, st)
		}
		for _, sh := range r.Shards {
			if ordered[sh.Spot.Node] == nil {
				ordered[sh.Spot.Node] = map[string]bool{}
			}
			ordered[sh.Spot.Node][string(sh.ID)] = true
		}
	}
	for _, a := range s.order {
		if why := a.diverged(ordered[a.id]); why != "" {
			return why
		}
	}
	for _, name := range sortedNames(c.plan.Health) {
		if h := c.plan.Health[name]; h.Total != h.Desired && !h.Unplaceable {
			return fmt.Sprintf("model %s has %d of %d and is not without room", name, h.Total, h.Desired)
		}
	}
	return ""
}

// diverged holds the engines that really run against what is ordered.
func (a *agent) diverged(ordered map[string]bool) string {
	for _, id := range sortedNames(a.engines) {
		if !ordered[id] {
			return fmt.Sprintf("an engine of %s runs on %s, and is not ordered", id, a.id)
		}
	}
	for _, id := range sortedNames(ordered) {
		if e := a.engines[id]; e == nil || !e.ready(a.s.now) {
			return fmt.Sprintf("no engine of %s serves on %s", id, a.id)
		}
	}
	return ""
}

// expectRest: with no more events nothing happens any more, and what is short
// has nowhere to go.
func (s *sim) expectRest() {
	c := s.control
	if why := s.diverged(); why != "" {
		s.violate("rest", "it converged, and then %s", why)
		return
	}
	if c.quiet() < restsFor {
		s.violate("rest", "something was ordered %s before the end", c.quiet())
		return
	}
	for _, name := range sortedNames(c.plan.Health) {
		h := c.plan.Health[name]
		if h.Total >= h.Desired {
			continue
		}
		e, ok := s.index.Get(name)
		if f := c.memory.Models[name].Former; !ok || f != nil && f.Back {
			continue // or it is the definition from before that finds no room
		}
		req := reconciler.Request(s.index, &e.Model)
		placer := s.o.Reconciler.Placer
		if d, _ := placer.Choose(c.fleet.Snapshot(), req, nil); d.Placed {
			s.violate("min", "%s rests with %d of %d and fits on %s", name, h.Total, h.Desired, d.Candidate.Spots[0].Node)
		}
		if p := placer.Preempt(c.fleet.Snapshot(), req, occupants(c), nil); p.Decision.Placed {
			s.violate("min", "%s (%s) rests without room, and %s", name, e.Model.Class.OrDefault(), p)
		}
	}
}
