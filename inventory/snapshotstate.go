package inventory

import (
	"cmp"
	"slices"
)

// SnapshotState is a snapshot as a plain value, for whoever keeps one and makes it
// again, such as a journal. Snapshot and State are each other's opposites.
type SnapshotState struct {
	Version uint64
	// Nodes are ordered by id. They are shared: read only.
	Nodes []*Node
	// Holds are all that were said, InForce those of them that hold.
	Holds, InForce []Hold
}

// State returns what the snapshot is made of. The slices are shared: read only.
func (s *Snapshot) State() SnapshotState {
	return SnapshotState{Version: s.version, Nodes: s.nodes, Holds: s.holds, InForce: s.inForce}
}

// Snapshot makes a snapshot, which then owns the slices and the nodes. Nodes come
// as they are: what holds make of them is not worked out anew.
func (st SnapshotState) Snapshot() *Snapshot {
	nodes := st.Nodes
	if byID := func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) }; !slices.IsSortedFunc(nodes, byID) {
		nodes = slices.SortedFunc(slices.Values(nodes), byID)
	}
	return &Snapshot{version: st.Version, nodes: nodes, holds: st.Holds, inForce: st.InForce}
}
