package reconciler

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// The rule of preemption. A model that is short and finds no room may have the
// room of lower classes (placement.Preempt says whose):
//
//   - What others are leaving anyway comes first: nobody is stopped for room that
//     is on its way. It is kept for the highest class that waits for it.
//   - A replica that gives way is drained like any other, and the winner is placed
//     once its room is free.
//   - The loser tries elsewhere at once. It shows whom it is held for, and is the
//     first of its class to get room, until it has what it is wanted to have.
//   - Only what is truly short takes room: a replica that has to leave its node
//     serves on, so its replacement stops nobody. A rollout may that was told to
//     borrow. Nobody gives way while the brake
//     is set.
//   - A model that waits for its next start keeps its room meanwhile, so that who
//     gave way does not come and go with every failure. Parked, it keeps none.

// makeRoom keeps the room that a model is going to have, and asks lower classes
// for what is lacking still.
func (s *step) makeRoom(g *group) {
	short := max(0, s.shortage(g)) + g.borrows()
	if !g.refused && !g.waits || g.mem.Parked || short <= 0 {
		return
	}
	standing, leaving := s.standing(g), s.leaving(g)
	if len(leaving) == 0 && len(standing) == 0 && !g.waits {
		return
	}
	var kept []inventory.Allocation
	s.ground.try(func(x *placement.Index) {
		for _, u := range leaving {
			x.Without(string(u.ID), u.nodes()...)
		}
		from := &taking{step: s, g: g, x: x, requests: s.requests(g), standing: standing}
		for range short {
			d := from.next()
			if !d.Placed {
				return
			}
			g.coming++
			room := comingRoom(g, d.Candidate)
			x.With(room...)
			kept = append(kept, room...)
		}
	})
	s.ground.With(kept...)
}

// shortage is how many replicas are lacking beside those that serve until they
// are replaced.
func (s *step) shortage(g *group) int {
	have := 0
	for _, u := range g.units {
		if u.counts() || u.live() && u.leaving && !u.away {
			have++
		}
	}
	return g.target.n - have
}

// leaving are the replicas whose room a model may count on. What restarts in
// place keeps its own from those that are of no higher class.
func (s *step) leaving(g *group) []*unit {
	var out []*unit
	for _, o := range s.groups {
		for _, u := range o.units {
			if s.leaves(o, u) && (u.gone || u.Restart != InPlace || o.rank() < g.rank()) {
				out = append(out, u)
			}
		}
	}
	return out
}

// leaves reports whether a replica's room will be free, as far as is known: of a
// model that this step has not come to yet, its orders and its agents tell.
func (s *step) leaves(g *group, u *unit) bool {
	if u.Phase != Run || u.gone || u.yieldsTo != "" || g.entry == nil || g.moving(u) {
		return true
	}
	return !u.isNew && (u.state == StateFailed || u.state == StateStopped)
}

// standing are the replicas that could be asked to give way.
func (s *step) standing(g *group) []placement.Occupant {
	if s.braked || g.waits {
		return nil
	}
	var out []placement.Occupant
	for _, o := range s.groups {
		if o.entry == nil || o.rank() >= g.rank() {
			continue
		}
		for _, u := range o.units {
			if u.isNew || s.leaves(o, u) || u.state == StateLost {
				continue
			}
			out = append(out, placement.Occupant{
				Replica: string(u.ID), Model: o.name, Class: o.entry.Model.Class, Seconds: s.loadSeconds(u),
			})
		}
	}
	return out
}

// loadSeconds is how long a replica took to be ready, or has been at it.
func (s *step) loadSeconds(u *unit) float64 {
	if u.ReadyAt.IsZero() {
		return s.now.Sub(u.CreatedAt).Seconds()
	}
	return u.ReadyAt.Sub(u.CreatedAt).Seconds()
}

// taking is who gives way for one replica of a model after the other.
type taking struct {
	*step
	g        *group
	x        *placement.Index
	requests []placement.Request
	standing []placement.Occupant
	// tried is how many of the requests find no room in that of others, and ask
	// is the search for the next one.
	tried int
	ask   *placement.Preempter
}

// next finds room for one more: that of those who leave anyway, then that of
// lower classes.
func (t *taking) next() placement.Decision {
	if d, _ := choose(t.requests, t.x.Choose); d.Placed || len(t.standing) == 0 {
		return d
	}
	return t.take()
}

// take marks the replicas that give way for one more. Their models are of lower
// classes, so this step has yet to come to them.
func (t *taking) take() placement.Decision {
	for ; t.tried < len(t.requests); t.tried, t.ask = t.tried+1, nil {
		if t.ask == nil {
			t.ask = t.x.Preempter(t.requests[t.tried], t.step.standing(t.g), t.floors())
		}
		p := t.ask.Next()
		for _, v := range p.Victims {
			t.unit(ReplicaID(v.Replica)).yieldsTo = t.g.name
		}
		if p.Decision.Placed {
			return p.Decision
		}
		if t.tried == len(t.requests)-1 && p.Looked > 0 {
			t.g.clamp("No lower class can make room: %s.", p)
		}
	}
	return placement.Decision{}
}

// floors are how many replicas of each model nobody may take.
func (s *step) floors() map[catalog.Name]int {
	out := map[catalog.Name]int{}
	for _, g := range s.groups {
		if g.entry != nil {
			if n := s.floor(&g.entry.Model); n > 0 {
				out[g.name] = n
			}
		}
	}
	return out
}

// CriticalMinimum is the default floor: critical models keep their scaling.min,
// others nothing.
func CriticalMinimum(m *catalog.Model) int {
	if m.Class.OrDefault() != catalog.ClassCritical {
		return 0
	}
	least, most := m.Bounds()
	return min(least, most)
}

// giveWay retires the replicas whose room a higher class takes.
func (s *step) giveWay(g *group) {
	for _, u := range g.units {
		if u.yieldsTo == "" || !u.live() {
			continue
		}
		s.retire(u, fmt.Sprintf("preempted: it gives way to model %s", u.yieldsTo))
		g.mem.Preempted++
		g.mem.HeldFor = u.yieldsTo
		s.event(EventPreempted, g, u, u.leadNode(), fmt.Sprintf(
			"Replica %s gives way to model %s, which is of a higher class and found no room.", u.ID, u.yieldsTo))
	}
}

// tellPreempted says how many replicas a higher class has taken from the model.
// One that has what is wanted lacks nothing any more.
func (s *step) tellPreempted(g *group, h *ModelHealth) {
	m := &g.mem
	if m.Preempted = max(0, min(m.Preempted, h.Desired-h.Total)); m.Preempted == 0 {
		m.HeldFor = ""
		return
	}
	h.Preempted, h.HeldFor = m.Preempted, m.HeldFor
	if !m.Parked {
		h.Why = WhyPreempted
	}
}

// nodes are those on which the replica stands, each once.
func (r *Replica) nodes() []inventory.NodeID {
	var out []inventory.NodeID
	for i := range r.Shards {
		if id := r.Shards[i].Spot.Node; !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
