package reconciler

import (
	"fmt"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// The rules of failing. They hold for a model, not for a replica, since the
// next replica of the model would fail in the same way:
//
//   - A failure counts when its replica had not been ready for SteadyAfter. One
//     that had is started anew at once.
//   - After a failure that counts the next start waits: FirstBackoff, doubling
//     to MaxBackoff, and starts go one at a time.
//   - StartLimit failures in a row park the model. A person's retry or another
//     revision of the definition starts afresh.
//   - A replica started since the last failure that stays ready for SteadyAfter
//     clears the count. One from before proves nothing.
//   - The node of a failure is avoided for AvoidFor, unless nothing else fits.
const (
	FirstBackoff = 5 * time.Second
	MaxBackoff   = 5 * time.Minute
	StartLimit   = 5
	SteadyAfter  = time.Minute
	AvoidFor     = 10 * time.Minute
)

// Backoff is how long the next start waits after so many failures in a row.
func Backoff(failures int) time.Duration {
	d := FirstBackoff
	for i := 1; i < failures && d < MaxBackoff; i++ {
		d *= 2
	}
	return min(d, MaxBackoff)
}

// fail stops the replicas of which a shard failed, or stopped though nobody
// asked it to. One dead shard takes its whole group down, since the others wait
// for it for ever.
func (s *step) fail(g *group) {
	for _, u := range g.units {
		if !u.live() || (u.state != StateFailed && u.state != StateStopped) {
			continue
		}
		node, st := s.failedShard(u)
		reason := st.Error
		if reason == "" {
			reason = "The engine ended and its agent does not say why; look at the shard's logs."
		}
		u.enter(Stop, s.now, "failed: "+reason)
		s.event(EventFailed, g, u, node, fmt.Sprintf("Replica %s failed on %s: %s", u.ID, node, reason))
		if g.entry != nil {
			s.remember(g, u, node, st, reason)
			s.failRollout(g, u, reason)
		}
	}
}

func (s *step) failedShard(u *unit) (inventory.NodeID, inventory.ShardStatus) {
	for i := range u.Shards {
		if st := statusOn(u.Replica, &u.Shards[i], s.home(u, i)); st.State == inventory.ShardFailed || st.State == inventory.ShardStopped {
			return u.Shards[i].Spot.Node, st
		}
	}
	return u.leadNode(), inventory.ShardStatus{}
}

func (s *step) remember(g *group, u *unit, node inventory.NodeID, st inventory.ShardStatus, reason string) {
	m := &g.mem
	m.Reason, m.Cause, m.LastLines, m.Revision = reason, st.Cause, st.LastLines, g.entry.Revision
	m.FailedOn = clone(m.FailedOn)
	m.FailedOn[node] = s.now.Add(AvoidFor)
	if !u.ReadyAt.IsZero() && s.now.Sub(u.ReadyAt) >= SteadyAfter {
		m.RetryAt = latest(m.RetryAt, s.now)
		return
	}
	m.Failures++
	m.RetryAt = s.now.Add(Backoff(m.Failures))
	if m.Failures >= StartLimit && !m.Parked {
		m.Parked = true
		s.event(EventParked, g, nil, node, fmt.Sprintf(
			"Model %s is parked after %d failed starts: %s Mend it and retry the model, or change its definition.", g.name, m.Failures, reason))
	}
}

// forgive forgets failures that say nothing any more.
func (s *step) forgive(g *group) {
	m := &g.mem
	g.forgetMoves(s.now)
	for node, until := range m.FailedOn {
		if !s.now.Before(until) {
			m.FailedOn = clone(m.FailedOn)
			delete(m.FailedOn, node)
		}
	}
	if m.Halted != "" && (g.entry == nil || g.entry.Revision != m.HaltedAt) {
		m.stayNew()
	}
	if m.Failures == 0 && !m.Parked && m.Reason == "" {
		return
	}
	if g.entry == nil || g.entry.Revision != m.Revision {
		g.clearFailures()
		return
	}
	for _, u := range g.units {
		if u.ready() && !u.CreatedAt.Before(m.RetryAt) {
			steady := u.ReadyAt.Add(SteadyAfter)
			if !s.now.Before(steady) {
				g.clearFailures()
				return
			}
			s.wake(steady)
		}
	}
}

func (g *group) clearFailures() {
	m := &g.mem
	*m = ModelMemory{
		Unplaceable: m.Unplaceable, Lost: m.Lost, Preempted: m.Preempted, HeldFor: m.HeldFor, Halted: m.Halted, HaltedAt: m.HaltedAt,
		Moved: m.Moved, Former: m.Former, Pace: m.Pace,
	}
}

// allowed is how many of the missing replicas may be started now.
func (s *step) allowed(g *group, missing int) int {
	m := &g.mem
	early := s.now.Before(m.RetryAt)
	if early && !m.Parked {
		s.wake(m.RetryAt)
	}
	starting := func(u *unit) bool { return u.counts() && !u.ready() }
	g.waits = m.Parked || early || (m.Failures > 0 && slices.ContainsFunc(g.units, starting))
	switch {
	case g.waits:
		return 0
	case m.Failures > 0:
		return 1
	}
	return missing
}

// retry carries out an order to try a model again.
func (s *step) retry(name catalog.Name) {
	if g := s.group(name); g != nil {
		g.clearFailures()
	}
}
