package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// touched lists the nodes that allocations are on, each once, in order.
func touched(as []Allocation) []NodeID {
	ids := make([]NodeID, len(as))
	for i, a := range as {
		ids[i] = a.Node
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// With returns a copy of the node that also holds those of the allocations that
// are its own; one of a shard that is there already is replaced.
func (n *Node) With(as ...Allocation) *Node { return n.with(as) }

// Without returns a copy in which the replica occupies nothing, or the node
// itself when it occupies nothing there anyway.
func (n *Node) Without(replica string) *Node { return n.without(replica) }

// with returns a copy of the node that also holds those of as that are its own.
// A shard that is there already is replaced, so a repetition changes nothing.
func (n *Node) with(as []Allocation) *Node {
	next := *n
	next.Allocations = append(make([]Allocation, 0, len(n.Allocations)+len(as)), n.Allocations...)
	for _, a := range as {
		if a.Node != n.ID {
			continue
		}
		i, found := slices.BinarySearchFunc(next.Allocations, a, func(x, y Allocation) int { return cmp.Compare(x.Shard, y.Shard) })
		if found {
			next.Allocations[i] = a
		} else {
			next.Allocations = slices.Insert(next.Allocations, i, a)
		}
	}
	return &next
}

// without returns a copy in which the replica holds nothing, or the node itself
// when it holds nothing anyway.
func (n *Node) without(replica string) *Node {
	of := func(a Allocation) bool { return a.Replica == replica }
	if !slices.ContainsFunc(n.Allocations, of) {
		return n
	}
	next := *n
	next.Allocations = slices.DeleteFunc(slices.Clone(n.Allocations), of)
	return &next
}

// checkRoom says why the node cannot hold what it holds, as far as the
// allocations in as are concerned. What was too much before is no reason
// against others.
func (n *Node) checkRoom(as []Allocation) error {
	for _, a := range as {
		if a.Node != n.ID {
			continue
		}
		for _, share := range a.Devices {
			if err := n.checkDevice(share); err != nil {
				return err
			}
		}
		if free, known := n.FreeMemoryMB(); known && a.MemoryMB > 0 && free < 0 {
			return fmt.Errorf("its memory is %d MiB short", -free)
		}
		if free, known := n.FreeCores(); known && a.Cores > 0 && free < 0 {
			return fmt.Errorf("it is %d cores short", -free)
		}
	}
	return nil
}

func (n *Node) checkDevice(share DeviceShare) error {
	d, ok := n.Device(share.Index)
	if !ok {
		return fmt.Errorf("it has no device %d", share.Index)
	}
	use := n.DeviceUse(share.Index)
	if use.Whole > 1 || use.Whole == 1 && use.Shares > 0 {
		return fmt.Errorf("device %s is taken", d.Label)
	}
	if free, known := n.ShareableMB(d); known && use.Shares > 0 && free < 0 {
		return fmt.Errorf("device %s is %d MiB short", d.Label, -free)
	}
	return nil
}

// forgettable says why a node must not be removed now, and what to do first.
func (n *Node) forgettable() error {
	switch {
	case n.Hearing == Lost:
		return nil
	case n.Hearing == Unreachable && len(n.Allocations) == 0:
		return nil
	case n.Hearing == Unreachable:
		return fmt.Errorf("%w: it is unreachable and %d shards are placed there; remove it once it is lost, a minute after its last beat", ErrState, len(n.Allocations))
	}
	return fmt.Errorf("%w: it is %s; stop its agent (systemctl stop llmgw-agent) and remove it once it is lost, a minute later", ErrState, n.State())
}

func (s NodeSettings) clone() NodeSettings {
	s.Labels, s.EngineBuilds = maps.Clone(s.Labels), maps.Clone(s.EngineBuilds)
	return s
}
