package inventory

import (
	"cmp"
	"slices"
)

// edition is a new snapshot in the making: a copy of the list of nodes, in
// which single nodes are replaced.
type edition struct {
	version uint64
	nodes   []*Node
	// touched and decisive tell whether any node was put, and whether one was
	// put for a reason that decisions rest on.
	touched, decisive bool
}

func newEdition(s *Snapshot) *edition {
	return &edition{version: s.version + 1, nodes: slices.Clone(s.nodes)}
}

// put replaces a node, or adds it. A decisive change gives it the version of
// this edition: versions are never used twice, not even by a node that was
// removed and came back.
func (e *edition) put(n *Node, decisive bool) {
	if decisive {
		n.Version = e.version
	}
	e.touched, e.decisive = true, e.decisive || decisive
	i, found := e.find(n.ID)
	if found {
		e.nodes[i] = n
	} else {
		e.nodes = slices.Insert(e.nodes, i, n)
	}
}

func (e *edition) remove(id NodeID) {
	if i, found := e.find(id); found {
		e.nodes = slices.Delete(e.nodes, i, i+1)
	}
}

func (e *edition) find(id NodeID) (int, bool) {
	return slices.BinarySearchFunc(e.nodes, id, func(n *Node, id NodeID) int { return cmp.Compare(n.ID, id) })
}

func (e *edition) snapshot() *Snapshot { return &Snapshot{version: e.version, nodes: e.nodes} }
