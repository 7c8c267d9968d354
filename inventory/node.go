package inventory

import (
	"maps"
	"time"
)

// Node is one machine as it is known at one moment. Nodes of a snapshot are
// shared: never change one.
type Node struct {
	ID       NodeID
	Facts    Facts
	Settings NodeSettings
	Hearing  Hearing
	// LastSeen is when the last beat came, by the control plane's clock. Zero:
	// not heard of since the control plane started.
	LastSeen time.Time
	// ClockSkew is the agent's clock less the control plane's at the last beat.
	ClockSkew time.Duration
	// Held is what the holds in force make of the node, by where it stands.
	Held Held
	// Allocations are ordered by shard.
	Allocations []Allocation
	// Shards is what the agent last said of its shards, ordered by id.
	Shards []ShardStatus
	// ShardsKnown is false until the agent has sent a whole list since the
	// control plane started; until then a missing shard means nothing.
	ShardsKnown bool
	// Sample is the newest measurement; nil before the first.
	Sample   *Sample
	SampleAt time.Time
	// Version rises with facts, settings, holds, hearing and allocations, not with
	// samples and shard states, so that a beat spoils no decision.
	Version uint64
}

// State is the one word shown for the node.
func (n *Node) State() NodeState { return Shown(n.Settings.Wish, n.Hearing) }

// Labels returns the agent's labels with the operators' over them, as a map of
// the caller's own.
func (n *Node) Labels() map[string]string {
	out := make(map[string]string, len(n.Facts.Labels)+len(n.Settings.Labels))
	maps.Copy(out, n.Facts.Labels)
	maps.Copy(out, n.Settings.Labels)
	return out
}

// Label returns one label, the operators' before the agent's. Empty: not set.
func (n *Node) Label(key string) string {
	if v, ok := n.Settings.Labels[key]; ok {
		return v
	}
	return n.Facts.Labels[key]
}

// Shard returns what the agent last said of a shard.
func (n *Node) Shard(id string) (ShardStatus, bool) {
	for _, s := range n.Shards {
		if s.ID == id {
			return s, true
		}
	}
	return ShardStatus{}, false
}
