package reconciler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// The rule of a place that is carried out. A hold that has begun its planned
// work makes the replicas that stand there leave as those of a draining node do:
// each stays until another one is ready elsewhere, or its time is over. Lower
// classes go first, so that what the plan has overlooked is found by what can
// best do without: a class waits until the ones below it have moved, or have
// found no room. The room is another matter: what the waiting classes need is
// kept for them, the highest first. A hold without a begin leaves what runs
// alone.

// outTurn is the rank of the class whose turn it is to be carried out of held
// places; above all when none waits.
func (s *step) outTurn() int {
	if !s.carries() {
		return highestRank
	}
	for _, g := range slices.Backward(s.groups) {
		for _, u := range g.units {
			n := s.outNode(u)
			if n == nil || n.Hearing == inventory.Lost {
				continue
			}
			if u.DrainBy.IsZero() || g.replacementOf(u.ID) != nil {
				return g.rank()
			}
		}
	}
	return highestRank
}

// carries reports whether any node is to be carried out.
func (s *step) carries() bool {
	for range s.marked(carried) {
		return true
	}
	return false
}

// highestRank is above every class.
const highestRank = 1 << 30

// outNode is a node of a live replica that is to be carried out, or nil.
func (s *step) outNode(u *unit) *inventory.Node {
	if !u.live() {
		return nil
	}
	for i := range u.Shards {
		if n := s.home(u, i); n != nil && n.Held.Out {
			return n
		}
	}
	return nil
}

// keepRoom takes the room that classes which wait to be carried out will need,
// so that nothing this step places can have it.
func (s *step) keepRoom() {
	if s.out == highestRank {
		return
	}
	for _, g := range s.groups {
		if g.entry == nil || g.rank() <= s.out {
			return
		}
		s.keepRoomOf(g)
	}
}

// keepRoomOf ends with the first replica that fits nowhere: the next would not
// either.
func (s *step) keepRoomOf(g *group) {
	for _, u := range g.units {
		if s.outNode(u) == nil || !u.DrainBy.IsZero() {
			continue
		}
		d, _ := s.ground.Choose(s.request(g, &g.entry.Model))
		if !d.Placed {
			return
		}
		s.ground.With(expected(u.Replica, d.Candidate)...)
	}
}

// expected is the room of a replica's replacement that is not ordered yet.
func expected(r *Replica, c placement.Candidate) []inventory.Allocation {
	out := make([]inventory.Allocation, len(c.Spots))
	for rank, spot := range c.Spots {
		out[rank] = spot.Allocation(string(r.Model), string(r.ID)+"+", string(shardID(r.ID, rank))+"+")
	}
	return out
}

// farewell says why a replica has to leave though it does well: people drain a
// node of it, or carry out a place that it stands in. Empty: it may stay.
func (s *step) farewell(g *group, u *unit) string {
	for i := range u.Shards {
		if n := s.home(u, i); n != nil && n.Settings.Wish == inventory.WishDraining {
			return fmt.Sprintf("node %s drains", n.ID)
		}
	}
	n := s.outNode(u)
	switch {
	case n == nil:
		return ""
	case g.rank() > s.out && u.DrainBy.IsZero():
		// Lower classes are on their way; whether they have moved is seen soon.
		s.wake(s.now.Add(time.Second))
		return ""
	}
	return n.Held.Reason
}

// sentence makes a sentence of half of one.
func sentence(half string) string {
	if half == "" {
		return ""
	}
	return strings.ToUpper(half[:1]) + half[1:] + "."
}
