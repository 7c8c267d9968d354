package reconciler

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// scale places what is missing and retires what is too many.
func (s *step) scale(g *group) {
	switch missing := g.target.n - g.running(); {
	case missing > 0:
		s.place(g, missing)
	case missing < 0:
		s.shrink(g, -missing)
	}
}

// shrink retires the least valuable first: not ready before ready, idle before
// used where the model runs on demand, stale before fresh, then the fewest
// requests, then the newest. Those that are lost under the brake stay, and count
// for nothing here: nobody hears whether they serve.
func (s *step) shrink(g *group, n int) {
	idle := func(u *unit) bool { return g.entry != nil && g.entry.Model.OnDemand() && s.idle(g, u) }
	var running []*unit
	for _, u := range g.units {
		switch {
		case !u.counts():
		case u.kept:
			n--
		case u.live():
			running = append(running, u)
		}
	}
	n = max(0, min(n, len(running)))
	slices.SortFunc(running, func(a, b *unit) int {
		return cmp.Or(
			order(!a.ready(), !b.ready()),
			order(idle(a), idle(b)),
			order(g.stale(a), g.stale(b)),
			cmp.Compare(s.w.Traffic.Replicas[a.ID].InFlight, s.w.Traffic.Replicas[b.ID].InFlight),
			b.CreatedAt.Compare(a.CreatedAt),
			cmp.Compare(b.ID.number(), a.ID.number()),
		)
	})
	for _, u := range running[:n] {
		s.retire(u, s.surplus(g))
	}
}

func (s *step) surplus(g *group) string {
	switch {
	case g.entry == nil:
		return "the model was removed"
	case g.target.n == 0 && g.entry.Model.OnDemand():
		return "nobody asks for the model"
	}
	return g.target.String()
}

// order puts true before false.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// stale reports whether the definition was edited since the replica was placed.
func (g *group) stale(u *unit) bool {
	edited, _ := compared(g.entry, u.Replica)
	return edited
}

// place looks for room for what is missing, one replica after the other, each
// on a fleet that holds those before it.
func (s *step) place(g *group, missing int) {
	requests := s.requests(g)
	for left := s.allowed(g, missing); left > 0; left-- {
		d, req := choose(requests, s.ground.Choose)
		if !d.Placed || left == 1 {
			// The last attempt is kept for people.
			_, trace := s.ground.Explain(req)
			g.trace = &trace
		}
		if !d.Placed {
			s.refused(g)
			return
		}
		s.add(g, d.Candidate)
		if g.mem.Former != nil {
			requests = s.requests(g) // only one of them goes back
		}
	}
}

// choose asks for room, first without the nodes where the model failed of late,
// and with them when nothing else fits. It answers which request was the last.
func choose(requests []placement.Request, ask func(placement.Request) (placement.Decision, placement.Trace)) (d placement.Decision, last placement.Request) {
	for _, last = range requests {
		if d, _ = ask(last); d.Placed {
			break
		}
	}
	return d, last
}

// requests are what is asked for one more replica, one after the other.
func (s *step) requests(g *group) []placement.Request {
	s.pace(g)
	req := s.request(g, g.definition())
	if len(g.mem.FailedOn) == 0 {
		return []placement.Request{req}
	}
	careful := req
	careful.Avoid = make(map[inventory.NodeID]string, len(g.mem.FailedOn))
	for node := range g.mem.FailedOn {
		careful.Avoid[node] = "a start of this model failed here a short while ago"
	}
	return []placement.Request{careful, req}
}

// Request is what Step asks of the placer for one more replica of a model: room
// for any of the profiles that llmgw starts, apart from what the catalog keeps it
// apart from.
func Request(in *catalog.Index, m *catalog.Model) placement.Request {
	var names []string
	for i := range m.Profiles {
		if m.Profiles[i].Managed() {
			names = append(names, m.Profiles[i].Name)
		}
	}
	if len(names) == len(m.Profiles) {
		names = nil
	}
	return placement.Request{Model: m, Profiles: names, Apart: in.Apart(m.Name)}
}

// refused notes that there is no room, for what is short or for what is to be
// replaced.
func (s *step) refused(g *group) {
	g.refused = true
	for _, u := range g.units {
		if u.live() && u.leaving && !u.Restart.rolls() {
			g.clamp("%s", s.waiting(u))
		}
	}
	s.breakUp(g)
}

func (s *step) waiting(u *unit) string {
	if u.Restart == Replace {
		return fmt.Sprintf("Replica %s waits for room for its replacement; restart it in place to use its own.", u.ID)
	}
	return fmt.Sprintf("Replica %s stays where it has to leave, since nothing else fits, and is stopped at %s.",
		u.ID, u.DrainBy.UTC().Format("15:04 UTC on 2 January"))
}

// add orders a replica on the room that was found.
func (s *step) add(g *group, c placement.Candidate) {
	replaces, why := g.inNeed(), fmt.Sprintf("%s (%s).", g.target, g.target.why)
	if replaces != "" {
		why = fmt.Sprintf("It replaces %s.", replaces)
	}
	m := g.definition()
	if m != &g.entry.Model {
		why = fmt.Sprintf("It is again what %s was, since the rollout has ended.", g.mem.Former.ID)
	}
	g.takePlace(s.order(g, m, c, replaces, why).ID)
}

// order orders a replica by a definition, on some room.
func (s *step) order(g *group, m *catalog.Model, c placement.Candidate, replaces ReplicaID, why string) *unit {
	profile := profileOf(m, c.Profile)
	u := &unit{isNew: true, mine: true, held: true, state: StatePending, Replica: &Replica{
		ID: replicaID(g.name, s.next), Model: g.name, Source: m.Source, Files: m.Files,
		Profile: profile, Adapters: m.Adapters, Fingerprint: catalog.Fingerprint(m, &profile),
		CreatedAt: s.now, Phase: Run, PhaseSince: s.now, Replaces: replaces,
	}, why: why}
	s.next++
	spots := make([]inventory.Allocation, len(c.Spots))
	for rank, spot := range c.Spots {
		id := shardID(u.ID, rank)
		spots[rank] = spot.Allocation(string(g.name), string(u.ID), string(id))
		u.Shards = append(u.Shards, Shard{ID: id, Rank: rank, Spot: spots[rank]})
		u.homes = append(u.homes, s.at(spot.Node))
		u.versions = append(u.versions, spot.NodeVersion)
	}
	s.ground.With(spots...)
	g.units = append(g.units, u)
	s.event(EventPlaced, g, u, u.leadNode(), fmt.Sprintf("Replica %s is placed on %s as %s.", u.ID, u.leadNode(), profile.Name))
	return u
}

func profileOf(m *catalog.Model, name string) catalog.Profile {
	i := slices.IndexFunc(m.Profiles, func(p catalog.Profile) bool { return p.Name == name })
	if i < 0 {
		panic("reconciler: the placer chose the profile " + strconv.Quote(name) + ", which the model does not have")
	}
	return m.Profiles[i]
}

// inNeed is the first replica that waits for a replacement and has none: the
// lost ones before those that leave.
func (g *group) inNeed() ReplicaID {
	var leaving ReplicaID
	for _, u := range g.units {
		if !u.live() || g.replacementOf(u.ID) != nil {
			continue
		}
		if u.away {
			return u.ID
		}
		if u.leaving && leaving == "" {
			leaving = u.ID
		}
	}
	return leaving
}
