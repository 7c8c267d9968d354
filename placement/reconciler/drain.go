package reconciler

import (
	"fmt"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
)

// The times of leaving.
const (
	// DefaultDrainTimeout is how long a replica's requests may take to end.
	DefaultDrainTimeout = 5 * time.Minute
	// NodeDrainTimeout is how long a replica on a draining node waits for
	// another one to be ready elsewhere.
	NodeDrainTimeout = 30 * time.Minute
	// routersSettle is how long routers have to hear that a replica drains
	// before their word that it answers nothing counts.
	routersSettle = time.Second
	// listSettle is how old an order to stop must be before an agent's list
	// without the shard counts as the answer to it.
	listSettle = 10 * time.Second
)

// retire takes a replica out: by way of Drain when it may have requests, else at
// once.
func (s *step) retire(u *unit, why string) {
	if !s.mayServe(u) {
		u.enter(Stop, s.now, why)
		return
	}
	u.enter(Drain, s.now, why)
	limit := time.Duration(u.Profile.DrainTimeout)
	if limit <= 0 {
		limit = DefaultDrainTimeout
	}
	u.edit().DrainBy = s.now.Add(limit)
}

// mayServe reports whether requests may be with the replica: it is ready, was so
// when its agent last spoke, or routers say so.
func (s *step) mayServe(u *unit) bool {
	if u.state == StateReady || s.w.Traffic.Replicas[u.ID].InFlight > 0 {
		return true
	}
	return !u.ReadyAt.IsZero() && s.unheard(u)
}

// evacuate marks the replicas that people ask to leave: each stays until another
// one is ready elsewhere, or its time is over. A cordoned node, and a place that
// is only held, keep what they have.
func (s *step) evacuate(g *group) {
	for _, u := range g.units {
		if !u.live() || u.kept {
			continue
		}
		why := s.farewell(g, u)
		switch {
		case why == "" && !u.DrainBy.IsZero() && s.unheard(u):
			// An agent may say where its node stands, and has not yet.
			u.leaving = true
		case why == "" && !u.DrainBy.IsZero():
			u.edit().DrainBy = time.Time{}
			u.change("It need not leave its node any more.")
		case why != "" && u.DrainBy.IsZero():
			u.edit().DrainBy = s.now.Add(NodeDrainTimeout)
			u.leaving = true
			u.change(sentence(why))
		case why != "" && !s.now.Before(u.DrainBy):
			u.enter(Stop, s.now, fmt.Sprintf("%s and nothing took over in %s", why, NodeDrainTimeout))
		case why != "":
			u.leaving = true
		}
		if u.leaving {
			s.wake(u.DrainBy)
		}
	}
}

// handOver lets go of what only waits for others: replicas that leave, and lost
// ones, once their own replacement is ready or the model has enough without
// them. One that leaves and is not ready serves nobody, so it goes as soon as
// its replacement is placed.
func (s *step) handOver(g *group) {
	ready := 0
	for _, u := range g.units {
		if u.counts() && u.ready() {
			ready++
		}
	}
	enough := ready >= g.target.n
	for _, u := range g.units {
		if !u.live() || u.kept || (!u.leaving && u.state != StateLost) {
			continue
		}
		p := g.replacementOf(u.ID)
		took := p != nil && (p.ready() || (u.leaving && !u.ready()))
		if !took && !enough {
			continue
		}
		s.letGo(g, u, p, took)
	}
}

func (s *step) letGo(g *group, u *unit, p *unit, took bool) {
	why := "the model has enough without it"
	switch {
	case g.entry == nil:
		why = "the model was removed"
	case took:
		why = fmt.Sprintf("replica %s took over", p.ID)
	}
	if u.state == StateLost {
		u.enter(Stop, s.now, "its node is lost and "+why)
		return
	}
	s.retire(u, why)
}

// finish moves what is on its way out: from Drain to Stop when its requests have
// ended, and out of the world when its shards are gone.
func (s *step) finish(g *group) {
	for _, u := range g.units {
		if u.Phase == Drain && s.drained(u) {
			u.enter(Stop, s.now, u.Why)
		}
		if u.Phase == Stop && !u.gone && s.stopped(u) {
			u.gone, u.why = true, u.Why
			s.event(EventStopped, g, u, u.leadNode(), fmt.Sprintf("Replica %s has stopped: %s.", u.ID, strings.TrimSuffix(u.Why, ".")))
		}
	}
}

// drained reports whether waiting for the replica's requests is over. What
// routers have not said is not zero: while none speaks, only the time ends it.
func (s *step) drained(u *unit) bool {
	if u.state == StateFailed || u.state == StateStopped || !s.now.Before(u.DrainBy) {
		return true
	}
	if s.w.Traffic.Since.IsZero() {
		s.wake(u.DrainBy)
		return false
	}
	settled := u.PhaseSince.Add(routersSettle)
	if s.now.Before(settled) {
		s.wake(settled)
		return false
	}
	if s.w.Traffic.Replicas[u.ID].InFlight > 0 {
		s.wake(s.now.Add(routersSettle))
		return false
	}
	return true
}

// stopped reports whether no process of the replica is left, as far as can be
// known: each shard has stopped or failed, is missing from the list of an agent
// that had time to hear the order, or its node is lost or gone.
func (s *step) stopped(u *unit) bool {
	for i := range u.Shards {
		if !s.shardGone(u, i) {
			return false
		}
	}
	return true
}

func (s *step) shardGone(u *unit, shard int) bool {
	n := s.home(u, shard)
	if n == nil || n.Hearing == inventory.Lost {
		return true
	}
	if st, listed := n.Shard(string(u.Shards[shard].ID)); listed {
		return st.State == inventory.ShardStopped || st.State == inventory.ShardFailed
	}
	if n.Hearing != inventory.Heard || !n.ShardsKnown {
		return false
	}
	settled := u.PhaseSince.Add(listSettle)
	s.wake(settled)
	return !s.now.Before(settled)
}
