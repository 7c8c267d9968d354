package reconciler

import (
	"fmt"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
)

// DefaultIdleTimeout is after how long without a request an on-demand replica
// is stopped.
const DefaultIdleTimeout = 15 * time.Minute

// target is how many replicas a model should have, and why.
type target struct {
	n      int
	why    Why
	clamps []string
}

// String is the number in words: "1 replica is wanted".
func (t target) String() string {
	if t.n == 1 {
		return "1 replica is wanted"
	}
	return fmt.Sprintf("%d replicas are wanted", t.n)
}

// want decides how many replicas there should be.
func (s *step) want(g *group) {
	g.target = target{why: WhyMin}
	if g.entry == nil || !managed(&g.entry.Model) {
		return
	}
	m := &g.entry.Model
	least, most := m.Bounds()
	t := &g.target
	t.n = min(least, most)
	if least > most {
		t.clamps = append(t.clamps, fmt.Sprintf("scaling.min is %d and scaling.max allows %d; raise scaling.max to have more.", least, most))
	}
	s.schedule(m, t, most)
	// Requests for a model that runs anyway decide nothing, nor when to look again.
	asked := (most == 0 || m.OnDemand()) && s.asked(g)
	if most == 0 && asked {
		t.clamps = append(t.clamps, fmt.Sprintf("scaling.max is 0, so requests for %q start nothing; raise it to serve them.", g.name))
	}
	if !m.OnDemand() {
		return
	}
	if up := s.lively(g); t.n == 0 {
		t.why = WhyDemand
		if asked || up {
			t.n = 1
		}
	}
}

// schedule raises the target to the highest floor of the windows that are open.
func (s *step) schedule(m *catalog.Model, t *target, most int) {
	if m.Scaling == nil || len(m.Scaling.Schedule) == 0 {
		return
	}
	floor := Scheduled(m.Scaling.Schedule, s.now)
	if floor > most {
		t.clamps = append(t.clamps, fmt.Sprintf("The schedule asks for %d replicas and scaling.max allows %d; raise scaling.max to have more.", floor, most))
		floor = most
	}
	if floor > t.n {
		t.n, t.why = floor, WhySchedule
	}
	s.wake(s.now.Truncate(time.Minute).Add(time.Minute))
}

// managed reports whether any profile is started by llmgw; the others are only
// routed to.
func managed(m *catalog.Model) bool {
	for i := range m.Profiles {
		if m.Profiles[i].Managed() {
			return true
		}
	}
	return false
}

// asked reports whether requests ask for the model: some wait, some are being
// answered, or the last one was less than the idle timeout ago. A wait that is
// given up before anything was ready so fades like any other use.
func (s *step) asked(g *group) bool {
	t, ok := s.w.Traffic.Models[g.name]
	if !ok {
		return false
	}
	if t.Waiting > 0 || t.InFlight > 0 {
		return true
	}
	if t.LastAsked.IsZero() {
		return false
	}
	until := t.LastAsked.Add(idleTimeout(&g.entry.Model))
	s.wake(until)
	return s.now.Before(until)
}

// lively reports whether a replica that is up has to stay, though nothing asks
// for the model: one that was ready answers requests or is not idle yet. While
// none was ready, those that start have the idle time from their order on.
func (s *step) lively(g *group) bool {
	wasReady := slices.ContainsFunc(g.units, func(u *unit) bool { return u.live() && !u.ReadyAt.IsZero() })
	up := false
	for _, u := range g.units {
		if u.live() && u.ReadyAt.IsZero() != wasReady && !s.idle(g, u) {
			up = true
		}
	}
	return up
}

// idle reports whether the replica was of no use for the idle time, counted from
// the later of ready, last use and the routers' start. While no router speaks,
// nothing is idle.
func (s *step) idle(g *group, u *unit) bool {
	if s.w.Traffic.Since.IsZero() || s.busy(u) {
		return false
	}
	since := latest(u.ReadyAt, s.w.Traffic.Replicas[u.ID].LastUsed, s.w.Traffic.Since)
	if u.ReadyAt.IsZero() {
		since = latest(since, u.CreatedAt)
	}
	until := since.Add(idleTimeout(&g.entry.Model))
	s.wake(until)
	return !s.now.Before(until)
}

// busy reports whether the replica answers requests, by the routers' word or by
// its engine's.
func (s *step) busy(u *unit) bool {
	if s.w.Traffic.Replicas[u.ID].InFlight > 0 {
		return true
	}
	for i := range u.Shards {
		if use := statusOn(u.Replica, &u.Shards[i], s.home(u, i)).Use; use != nil && use.Running > 0 {
			return true
		}
	}
	return false
}

func idleTimeout(m *catalog.Model) time.Duration {
	if m.Scaling != nil && m.Scaling.IdleTimeout > 0 {
		return time.Duration(m.Scaling.IdleTimeout)
	}
	return DefaultIdleTimeout
}

func latest(ts ...time.Time) time.Time {
	var out time.Time
	for _, t := range ts {
		if t.After(out) {
			out = t
		}
	}
	return out
}
