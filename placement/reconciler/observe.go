package reconciler

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// stateOrder is the order in which a shard's state decides the replica's.
var stateOrder = []ReplicaState{
	StateFailed, StateLost, StateDraining, StateStopped,
	StatePending, StateFetching, StateStarting, StateReady,
}

// StateOf is the one word for a replica: the first that any shard is in, of
// failed, lost, draining, stopped, pending, fetching, starting, ready.
func StateOf(r *Replica, fleet *inventory.Snapshot) ReplicaState {
	if len(r.Shards) == 0 {
		return StatePending
	}
	first := len(stateOrder) - 1
	for i := range r.Shards {
		first = min(first, placeOf(stateOn(r, &r.Shards[i], fleet.Node(r.Shards[i].Spot.Node))))
	}
	return stateOrder[first]
}

// stateOf is StateOf without looking for the nodes.
func (s *step) stateOf(u *unit) ReplicaState {
	if len(u.Shards) == 0 {
		return StatePending
	}
	first := len(stateOrder) - 1
	for i := range u.Shards {
		first = min(first, placeOf(stateOn(u.Replica, &u.Shards[i], s.home(u, i))))
	}
	return stateOrder[first]
}

func placeOf(st inventory.ShardState) int {
	if at := slices.Index(stateOrder, ReplicaState(st)); at >= 0 {
		return at
	}
	return len(stateOrder) - 1
}

// stateOn is the state of ShardStateOf on a node; nil is one that is not known.
func stateOn(r *Replica, sh *Shard, n *inventory.Node) inventory.ShardState {
	if n == nil || n.Hearing == inventory.Lost {
		return inventory.ShardLost
	}
	st := inventory.ShardPending
	for i := range n.Shards {
		if n.Shards[i].ID == string(sh.ID) {
			st = n.Shards[i].State
			break
		}
	}
	if r.Phase != Run && onTheWay(st) {
		return inventory.ShardDraining
	}
	return st
}

// ShardStateOf is what is known of one shard now; lost while its node is.
//
// A shard that its agent does not list is pending, however often it ran before:
// its order stands, and an agent that gets it once more starts it once. What an
// unreachable node last said is believed until the node is lost. A shard that
// is on its way out is draining until it has stopped, whatever its engine still
// does.
func ShardStateOf(r *Replica, s *Shard, fleet *inventory.Snapshot) inventory.ShardStatus {
	return statusOn(r, s, fleet.Node(s.Spot.Node))
}

// statusOn is ShardStateOf on a node; nil is one that is not known.
func statusOn(r *Replica, s *Shard, n *inventory.Node) inventory.ShardStatus {
	if n == nil {
		st := pendingStatus(r, s)
		st.State, st.Error = inventory.ShardLost, fmt.Sprintf("Node %s is no longer known.", s.Spot.Node)
		return st
	}
	st, known := n.Shard(string(s.ID))
	if !known {
		st = pendingStatus(r, s)
	}
	if n.Hearing == inventory.Lost {
		st.State, st.Error = inventory.ShardLost, fmt.Sprintf("Node %s is lost.", n.ID)
		return st
	}
	if r.Phase != Run && onTheWay(st.State) {
		st.State = inventory.ShardDraining
	}
	return st
}

func pendingStatus(r *Replica, s *Shard) inventory.ShardStatus {
	return inventory.ShardStatus{
		ID: string(s.ID), Model: string(r.Model), Profile: r.Profile.Name,
		State: inventory.ShardPending, Since: r.CreatedAt,
	}
}

func onTheWay(st inventory.ShardState) bool {
	switch st {
	case inventory.ShardPending, inventory.ShardFetching, inventory.ShardStarting, inventory.ShardReady:
		return true
	case inventory.ShardDraining, inventory.ShardStopped, inventory.ShardFailed, inventory.ShardLost:
	}
	return false
}

// observe folds what the agents say into the units. There is no adopting: a
// replica that was loaded from a store is there, and its shards are what their
// agents say of them.
func (s *step) observe(g *group) {
	for _, u := range g.units {
		if u.live() && u.state == StateReady && u.ReadyAt.IsZero() {
			u.edit().ReadyAt = s.now
			u.change("It is ready.")
			s.event(EventReady, g, u, u.leadNode(), fmt.Sprintf("Replica %s is ready on %s.", u.ID, u.leadNode()))
		}
	}
	s.noteLost(g)
}

// findAway marks the replicas that are in want of a node.
func (s *step) findAway(g *group) {
	s.keep(g)
	replacing := slices.ContainsFunc(g.units, func(u *unit) bool { return u.Replaces != "" })
	for _, u := range g.units {
		u.away = u.live() && !u.kept && (u.state == StateLost || (replacing && s.unsure(g, u)))
	}
}

// unsure reports whether the replica's node has not said yet what it runs,
// while another replica was ordered in its place. It is neither counted nor
// given up before the node has spoken.
func (s *step) unsure(g *group, u *unit) bool {
	return g.replacementOf(u.ID) != nil && s.unheard(u)
}

// unheard reports whether nothing is known of a shard since the control plane
// started, or since its agent did.
func (s *step) unheard(u *unit) bool {
	for i := range u.Shards {
		n := s.home(u, i)
		if n == nil || n.ShardsKnown {
			continue
		}
		if _, said := n.Shard(string(u.Shards[i].ID)); !said {
			return true
		}
	}
	return false
}

// replacementOf returns the live replica that was placed for another, or nil.
func (g *group) replacementOf(id ReplicaID) *unit {
	for _, p := range g.units {
		if p.Replaces == id && p.live() {
			return p
		}
	}
	return nil
}

// leadNode is the node of rank 0.
func (r *Replica) leadNode() inventory.NodeID {
	if len(r.Shards) == 0 {
		return ""
	}
	return r.Shards[0].Spot.Node
}
