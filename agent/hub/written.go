package hub

import (
	"unsafe"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// written is a replica as its agents read it, for as long as it is ordered the
// same: the whole of what is ordered comes with each change of any of it.
type written struct {
	from *reconciler.Replica
	// turn is the dispatch at which it was last ordered.
	turn   uint64
	shards []*protocol.DesiredShard
}

// writeReplica gives a replica's shards, in its order.
func (h *Hub) writeReplica(r *reconciler.Replica, fleet *inventory.Snapshot) *written {
	w := &written{from: r, turn: h.turn, shards: make([]*protocol.DesiredShard, len(r.Shards))}
	for i, s := range r.Shards {
		d := desiredShard(r, s, fleet, h.cfg.EngineKey)
		w.shards[i] = &d
	}
	return w
}

// holds reports whether what was written is what would be written now. What its
// nodes say plays a part too: of one node it is the build, and of several it is
// so much that they are written anew.
func (w *written) holds(r *reconciler.Replica, fleet *inventory.Snapshot) bool {
	if len(r.Shards) != 1 || !identical(w.from, r) {
		return false
	}
	if r.Profile.Build != "" {
		return true
	}
	build := ""
	if n := fleet.Node(r.Shards[0].Spot.Node); n != nil {
		build = n.ChosenBuild(string(r.Profile.Engine))
	}
	return w.shards[0].Build == build
}

// identical reports whether two replicas are alike to the last byte. What they
// refer to is the same then, and never changes once it was dispatched; two that
// are equal and refer to copies are no more than written again.
func identical(a, b *reconciler.Replica) bool {
	type bytes [unsafe.Sizeof(*a)]byte
	return *(*bytes)(unsafe.Pointer(a)) == *(*bytes)(unsafe.Pointer(b))
}
