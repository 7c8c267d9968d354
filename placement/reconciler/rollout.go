package reconciler

import (
	"fmt"

	"llmgw.io/llmgw/placement"
)

// The rule of a rollout: replicas are replaced by what the definition in force
// says, on order only.
//
//   - One after the other, and only while all others of the model are there and
//     ready, as far as there is room for them.
//   - Where there is room the replacement comes first. Where there is none, and
//     none on its way, the old one is drained and the new one takes its room, once
//     Choose says that it fits there.
//   - One that may borrow takes the room of lower classes before that, for one
//     replacement at a time and by the rule of preemption. Who gave way is back
//     once the last room is free.
//   - The first replacement that fails before it was ready ends it: those that
//     were not replaced stay as they are, the one that was stopped for it goes back
//     (former.go), those that were replaced stay new, and people are told. Another
//     order or another definition begins anew.

// nextRollout is the replica of a rollout whose turn it is, or nil while another
// one of the model is not ready.
func (s *step) nextRollout(g *group) *unit {
	var first *unit
	for _, u := range g.units {
		if !u.live() {
			if u.Restart == InPlace && !u.gone {
				return nil
			}
			continue
		}
		if u.Restart.rolls() && g.replacementOf(u.ID) != nil {
			return u
		}
		if u.Restart.rolls() && !u.kept && first == nil {
			first = u
		}
	}
	if first == nil || s.lacks(g) {
		return nil
	}
	for _, o := range g.units {
		if o != first && o.live() && !o.ready() {
			return nil
		}
	}
	return first
}

// waitsOn is the replica of a rollout whose replacement is restarted in place: it
// serves until that is over.
func (g *group) waitsOn() *unit {
	for _, u := range g.units {
		if u.Phase == Run || u.gone || u.Restart != InPlace {
			continue
		}
		if o := g.find(u.Replaces); o != nil && o.live() && o.Restart.rolls() {
			return o
		}
	}
	return nil
}

// lacks reports whether a replica is still to be placed that may find room.
func (s *step) lacks(g *group) bool {
	short := s.shortage(g)
	return short > 0 && !g.mem.Unplaceable && (!g.refused || g.coming >= short)
}

// rollInPlace lets the replica whose turn it is make room for its own successor,
// where there is no other.
func (s *step) rollInPlace(g *group) {
	if !g.refused || g.waits || g.coming > max(0, s.shortage(g)) {
		return
	}
	u := s.nextRollout(g)
	if u == nil || g.replacementOf(u.ID) != nil {
		return
	}
	first, fits := s.triesInPlace(g, u)
	switch {
	case first:
		return // it comes first after all, once that room is free
	case g.mem.Former != nil && !g.stopping(g.mem.Former):
		s.endRollout(g, "", fmt.Sprintf("the room of replica %s was taken before its successor had it", g.mem.Former.ID))
		return
	case !fits:
		s.endRollout(g, "", fmt.Sprintf("the definition in force fits nowhere, nor in the room of replica %s; ask explain-placement why", u.ID))
		return
	}
	g.keepFormer(u)
	s.retire(u, "rolled out in place, since nothing else has room")
	u.edit().Restart = InPlace
	g.refused = s.shortage(g) > 0
}

// borrows is 1 while the replica whose turn it is in a rollout that may take room
// waits for its replacement, else 0.
func (g *group) borrows() int {
	for _, u := range g.units {
		if u.live() && u.leaving && u.Restart == RolloutBorrow && g.replacementOf(u.ID) == nil {
			return 1
		}
	}
	return 0
}

// triesInPlace reports whether the successor of a replica fits once others have
// left, and if not, whether it does in its predecessor's room.
func (s *step) triesInPlace(g *group, u *unit) (first, fits bool) {
	requests := s.requests(g)
	s.ground.try(func(x *placement.Index) {
		for _, o := range s.leaving(g) {
			x.Without(string(o.ID), o.nodes()...)
		}
		d, _ := choose(requests, x.Choose)
		if first = d.Placed; first {
			return
		}
		x.Without(string(u.ID), u.nodes()...)
		d, _ = choose(requests, x.Choose)
		fits = d.Placed
	})
	return first, fits
}

// failRollout ends a rollout whose replacement failed before it was ready.
func (s *step) failRollout(g *group, u *unit, reason string) {
	if !u.ReadyAt.IsZero() || u.Restart.rolls() || g.outdated(u) {
		return
	}
	s.endRollout(g, u.ID, fmt.Sprintf("replica %s failed: %s", u.ID, reason))
}

// endRollout lets those stay that were not replaced, and lets go back who was
// stopped for what failed.
func (s *step) endRollout(g *group, failed ReplicaID, why string) {
	left, back := 0, g.goBack(failed)
	for _, o := range g.units {
		if o.live() && o.Restart.rolls() {
			o.edit().Restart = NoRestart
			o.leaving = false
			o.change("The rollout has ended: " + why)
			left++
		}
	}
	if left == 0 && !back {
		return
	}
	g.mem.Halted = fmt.Sprintf("The rollout has ended: %s: %s", g.halfway(back), why)
	g.mem.HaltedAt = g.entry.Revision
	s.event(EventHalted, g, nil, "", g.mem.Halted)
}

// tellRollout says how far a rollout is, and why one has ended.
func (g *group) tellRollout(h *ModelHealth) {
	left := 0
	for _, u := range g.units {
		if u.live() && u.Restart.rolls() {
			left++
		}
	}
	switch {
	case left > 0:
		h.Clamps = append(h.Clamps, fmt.Sprintf("A rollout is under way, with %d to go.", left))
	case g.mem.Halted != "":
		h.Clamps = append(h.Clamps, g.mem.Halted)
	}
}
