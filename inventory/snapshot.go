package inventory

import (
	"cmp"
	"slices"
)

// Snapshot is the world at one moment: immutable, so any number of readers may
// share it, and a decision can be tried on a copy.
type Snapshot struct {
	version uint64
	nodes   []*Node // ordered by id
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
	i, ok := slices.BinarySearchFunc(s.nodes, id, func(n *Node, id NodeID) int { return cmp.Compare(n.ID, id) })
	if !ok {
		return nil
	}
	return s.nodes[i]
}

// With returns a snapshot in which the allocations are made; nodes they do not
// touch are shared with s. Allocations on unknown nodes are left out.
func (s *Snapshot) With(as ...Allocation) *Snapshot {
	return s.edit(func(n *Node) {
		for _, a := range as {
			if a.Node == n.ID {
				n.Allocations = append(n.Allocations, a)
			}
		}
		slices.SortStableFunc(n.Allocations, func(a, b Allocation) int { return cmp.Compare(a.Shard, b.Shard) })
	}, func(n *Node) bool {
		return slices.ContainsFunc(as, func(a Allocation) bool { return a.Node == n.ID })
	})
}

// Without returns a snapshot in which the replica occupies nothing.
func (s *Snapshot) Without(replica string) *Snapshot {
	of := func(a Allocation) bool { return a.Replica == replica }
	return s.edit(func(n *Node) {
		n.Allocations = slices.DeleteFunc(n.Allocations, of)
	}, func(n *Node) bool { return slices.ContainsFunc(n.Allocations, of) })
}

// edit copies the nodes that match and changes the copies.
func (s *Snapshot) edit(change func(*Node), match func(*Node) bool) *Snapshot {
	out := &Snapshot{version: s.version, nodes: slices.Clone(s.nodes)}
	for i, n := range out.nodes {
		if !match(n) {
			continue
		}
		c := *n
		c.Allocations = slices.Clone(n.Allocations)
		change(&c)
		out.nodes[i] = &c
	}
	return out
}
