package inventory

import (
	"cmp"
	"slices"
	"time"
)

// edition is a new snapshot in the making: a copy of the list of nodes, in
// which single nodes are replaced.
type edition struct {
	version uint64
	nodes   []*Node
	// holds and inForce are the snapshot's.
	holds, inForce []Hold
	// touched and decisive tell whether any node was put, and whether one was
	// put for a reason that decisions rest on.
	touched, decisive bool
}

func newEdition(s *Snapshot) *edition {
	return &edition{version: s.version + 1, nodes: slices.Clone(s.nodes), holds: s.holds, inForce: s.inForce}
}

// hold makes these the holds, as they are in force at a time. Only nodes that
// are held otherwise than before change.
func (e *edition) hold(holds []Hold, now time.Time) {
	holds = slices.Clone(holds)
	slices.SortFunc(holds, byDomain)
	e.holds, e.inForce, e.touched = holds, inForce(holds, now), true
	for _, n := range slices.Clone(e.nodes) {
		if held := heldBy(e.inForce, n); held != n.Held {
			next := *n
			e.put(&next, true)
		}
	}
}

// passTime lets holds begin and end.
func (e *edition) passTime(now time.Time) {
	if len(e.holds) > 0 && !slices.Equal(inForce(e.holds, now), e.inForce) {
		e.hold(e.holds, now)
	}
}

// put replaces a node, or adds it, and sees by which hold it is held. A
// decisive change gives it the version of this edition: versions are never used
// twice, not even by a node that was removed and came back.
func (e *edition) put(n *Node, decisive bool) {
	if held := heldBy(e.inForce, n); held != n.Held {
		n.Held, decisive = held, true
	}
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

func (e *edition) snapshot() *Snapshot {
	return &Snapshot{version: e.version, nodes: e.nodes, holds: e.holds, inForce: e.inForce}
}
