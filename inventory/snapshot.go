package inventory

import (
	"cmp"
	"slices"
	"time"
)

// Snapshot is the world at one moment: immutable, so any number of readers may
// share it, and a decision can be tried on a copy.
type Snapshot struct {
	version uint64
	nodes   []*Node // ordered by id
	// holds are all that were said, inForce those of them that hold.
	holds, inForce []Hold
}

// NewSnapshot makes a snapshot of nodes, which it then owns. The order of the
// argument does not matter.
func NewSnapshot(version uint64, nodes []*Node) *Snapshot {
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) })
	return &Snapshot{version: version, nodes: nodes}
}

// Version rises with every change of any node.
func (s *Snapshot) Version() uint64 { return s.version }

// Nodes returns every node, ordered by id. The slice and the nodes are shared:
// read only.
func (s *Snapshot) Nodes() []*Node { return s.nodes }

// Node returns one node, or nil when there is none of that id.
func (s *Snapshot) Node(id NodeID) *Node {
	i, ok := s.find(id)
	if !ok {
		return nil
	}
	return s.nodes[i]
}

func (s *Snapshot) find(id NodeID) (int, bool) {
	return slices.BinarySearchFunc(s.nodes, id, func(n *Node, id NodeID) int { return cmp.Compare(n.ID, id) })
}

// With returns a snapshot in which the allocations are made; nodes they do not
// touch are shared with s. Allocations on unknown nodes are left out.
func (s *Snapshot) With(as ...Allocation) *Snapshot {
	as = slices.Clone(as)
	slices.SortStableFunc(as, func(a, b Allocation) int { return cmp.Compare(a.Node, b.Node) })
	out := &Snapshot{version: s.version, nodes: slices.Clone(s.nodes), holds: s.holds, inForce: s.inForce}
	for len(as) > 0 {
		n := 1
		for n < len(as) && as[n].Node == as[0].Node {
			n++
		}
		if i, known := s.find(as[0].Node); known {
			out.nodes[i] = s.nodes[i].with(as[:n])
		}
		as = as[n:]
	}
	return out
}

// Without returns a snapshot in which the replica occupies nothing.
func (s *Snapshot) Without(replica string) *Snapshot {
	return s.edit(func(n *Node) *Node { return n.without(replica) })
}

// Holds returns every hold that was said, planned and ended ones too, the
// widest level first. The slice is shared: read only.
func (s *Snapshot) Holds() []Hold { return s.holds }

// WithHolds returns a snapshot in which these are the holds, as they are in
// force at a time, and every node knows whether it is held.
func (s *Snapshot) WithHolds(holds []Hold, now time.Time) *Snapshot {
	e := newEdition(s)
	e.version = s.version
	e.hold(holds, now)
	return e.snapshot()
}

// edit gives every node to change, which returns it or a changed copy.
func (s *Snapshot) edit(change func(*Node) *Node) *Snapshot {
	out := &Snapshot{version: s.version, nodes: slices.Clone(s.nodes), holds: s.holds, inForce: s.inForce}
	for i, n := range out.nodes {
		out.nodes[i] = change(n)
	}
	return out
}
