package reconciler

// tell writes down what people are shown of a model. One that is gone from the
// catalog has no health.
func (s *step) tell(g *group) {
	if g.entry == nil {
		return
	}
	if len(g.running()) >= g.target.n {
		g.mem.Unplaceable = false
	}
	m := &g.mem
	h := ModelHealth{
		Desired: g.target.n, Why: g.target.why, Failures: m.Failures, Parked: m.Parked,
		Reason: m.Reason, Cause: m.Cause, Unplaceable: g.refused, Clamps: g.target.clamps,
	}
	if m.Parked {
		h.Why = WhyParked
	} else if m.RetryAt.After(s.now) {
		h.RetryAt = m.RetryAt
	}
	for _, u := range g.units {
		if !u.live() {
			continue
		}
		switch u.state {
		case StateReady:
			h.Ready++
			h.Total++
		case StatePending, StateFetching, StateStarting:
			h.Total++
		case StateDraining, StateStopped, StateFailed, StateLost:
		}
	}
	s.plan.Health[g.name] = h
	if g.trace != nil {
		s.plan.Traces[g.name] = *g.trace
	}
}
