package reconciler

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// The rule of lost nodes. A replica on a lost node no longer counts, so another
// one is placed for it, but it is not given up before that one is ready: routers
// may still reach it, and its node may return. One whose node was removed is
// given up at once.
//
// When the node returns and there is one replica too many, the original stays
// if it is ready and its replacement is not yet; the replacement is stopped
// then. In every other case the original is given up. Before its agent has said
// what it runs, neither is touched.

// reunite ends the pairs of which both sides are there.
func (s *step) reunite(g *group) {
	for _, p := range g.units {
		if !p.live() || p.Replaces == "" {
			continue
		}
		o := g.find(p.Replaces)
		if o == nil || !o.live() || o.away || o.leaving {
			continue
		}
		switch {
		case g.running() <= g.target.n:
			p.edit().Replaces = ""
			p.change(fmt.Sprintf("Replica %s is back and both are wanted.", o.ID))
		case o.ready() && !p.ready():
			s.retire(p, fmt.Sprintf("replica %s came back before it was ready", o.ID))
		default:
			s.retire(o, fmt.Sprintf("replica %s was started in its place", p.ID))
		}
	}
}

func (g *group) find(id ReplicaID) *unit {
	for _, u := range g.units {
		if u.ID == id {
			return u
		}
	}
	return nil
}

// noteLost tells once of each replica that is lost, and gives up those whose
// node people removed: it will not return.
func (s *step) noteLost(g *group) {
	var lost []ReplicaID
	for _, u := range g.units {
		if !u.live() || u.state != StateLost {
			continue
		}
		lost = append(lost, u.ID)
		if !slices.Contains(g.mem.Lost, u.ID) {
			node := s.lostNode(u)
			s.event(EventLost, g, u, node, fmt.Sprintf("Replica %s is lost with node %s.", u.ID, node))
		}
		if node, removed := s.removedNode(u); removed {
			u.enter(Stop, s.now, fmt.Sprintf("node %s was removed", node))
		}
	}
	g.mem.Lost = lost
}

func (s *step) lostNode(u *unit) inventory.NodeID {
	for i := range u.Shards {
		if s.nodeLost(u, i) {
			return u.Shards[i].Spot.Node
		}
	}
	return u.leadNode()
}

func (s *step) removedNode(u *unit) (inventory.NodeID, bool) {
	for i := range u.Shards {
		if s.home(u, i) == nil {
			return u.Shards[i].Spot.Node, true
		}
	}
	return "", false
}

func (s *step) nodeLost(u *unit, shard int) bool {
	n := s.home(u, shard)
	return n == nil || n.Hearing == inventory.Lost
}

// breakUp stops one group of which some members are lost and others hold room
// that a new one needs. A group of which every member is lost holds nothing
// that could be given out.
func (s *step) breakUp(g *group) {
	for _, u := range g.units {
		if !u.live() || u.kept || u.state != StateLost {
			continue
		}
		lost := 0
		for i := range u.Shards {
			if s.nodeLost(u, i) {
				lost++
			}
		}
		if lost < len(u.Shards) {
			u.enter(Stop, s.now, fmt.Sprintf("node %s is lost, and only the room of its other members can hold another group", s.lostNode(u)))
			return
		}
	}
}
