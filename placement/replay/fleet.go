package replay

import (
	"cmp"
	"reflect"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// fleetBetween is what turns one fleet into another, as far as decisions look.
// Nodes that are the very same are passed over, so a quiet fleet costs little.
func fleetBetween(was, is inventory.SnapshotState) (f fleetForm, changed bool) {
	f.Version = is.Version
	i := 0
	for _, n := range is.Nodes {
		for i < len(was.Nodes) && was.Nodes[i].ID < n.ID {
			f.Gone = append(f.Gone, was.Nodes[i].ID)
			i++
		}
		var old *inventory.Node
		if i < len(was.Nodes) && was.Nodes[i].ID == n.ID {
			old = was.Nodes[i]
			i++
		}
		if old != n && (old == nil || !sameNode(old, n)) {
			f.Nodes = append(f.Nodes, nodeBetween(old, n))
		}
	}
	for ; i < len(was.Nodes); i++ {
		f.Gone = append(f.Gone, was.Nodes[i].ID)
	}
	if !sameHolds(was.Holds, is.Holds) || !sameHolds(was.InForce, is.InForce) {
		f.Holds = &holdsForm{All: is.Holds, InForce: is.InForce}
	}
	return f, len(f.Nodes)+len(f.Gone) > 0 || f.Holds != nil
}

func sameHolds(a, b []inventory.Hold) bool {
	return slices.EqualFunc(a, b, func(x, y inventory.Hold) bool {
		return x.Domain == y.Domain && x.Reason == y.Reason && x.By == y.By &&
			x.Since.Equal(y.Since) && x.From.Equal(y.From) && x.Until.Equal(y.Until)
	})
}

// sameNode reports whether decisions see no difference. The version stands for
// facts, settings, holds, hearing and allocations.
func sameNode(a, b *inventory.Node) bool {
	return a.Version == b.Version && a.Hearing == b.Hearing && a.Held == b.Held &&
		a.ShardsKnown == b.ShardsKnown && skew(a) == skew(b) && sameShards(a.Shards, b.Shards)
}

// skew is as much of a node's clock as decisions look at: it is refused when it is
// far off, and told then.
func skew(n *inventory.Node) (out int64) {
	if n.Clock() == inventory.ClockWrong {
		return int64(n.ClockSkew)
	}
	return 0
}

func sameShards(a, b []inventory.ShardStatus) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || slices.EqualFunc(a, b, sameShard)
}

// sameShard looks at all but measurements.
func sameShard(a, b inventory.ShardStatus) bool {
	return a.ID == b.ID && a.State == b.State && a.Since.Equal(b.Since) && a.Starts == b.Starts && a.Adopted == b.Adopted &&
		a.Model == b.Model && a.Profile == b.Profile && a.Address == b.Address && a.Gate == b.Gate &&
		a.Error == b.Error && a.Cause == b.Cause && slices.Equal(a.LastLines, b.LastLines) && slices.Equal(a.Adapters, b.Adapters)
}

// nodeBetween is a node that changed; old nil gives all of it.
func nodeBetween(old, n *inventory.Node) nodeForm {
	whole := old == nil
	if whole {
		old = &inventory.Node{}
	}
	f := nodeForm{
		ID: n.ID, Version: n.Version, Hearing: n.Hearing, Held: n.Held, ShardsKnown: n.ShardsKnown,
	}
	if n.Clock() == inventory.ClockWrong {
		f.Skew = n.ClockSkew
	}
	if whole || !reflect.DeepEqual(old.Facts, n.Facts) {
		f.Facts = &n.Facts
	}
	if whole || !reflect.DeepEqual(old.Settings, n.Settings) {
		f.Settings = &n.Settings
	}
	if !reflect.DeepEqual(old.Allocations, n.Allocations) {
		f.Allocations = said(n.Allocations)
	}
	if !sameShards(old.Shards, n.Shards) {
		shards := slices.Clone(n.Shards)
		for i := range shards {
			shards[i].Use, shards[i].Fetch = nil, nil
		}
		f.Shards = said(shards)
	}
	return f
}

// onto makes the change of a node on a copy; old nil is none.
func (f *nodeForm) onto(old *inventory.Node) *inventory.Node {
	n := inventory.Node{}
	if old != nil {
		n = *old
	}
	n.ID, n.Version, n.Hearing, n.Held, n.ShardsKnown, n.ClockSkew = f.ID, f.Version, f.Hearing, f.Held, f.ShardsKnown, f.Skew
	if f.Facts != nil {
		n.Facts = *f.Facts
	}
	if f.Settings != nil {
		n.Settings = *f.Settings
	}
	if f.Allocations != nil {
		n.Allocations = *f.Allocations
	}
	if f.Shards != nil {
		n.Shards = *f.Shards
	}
	return &n
}

// onto makes the change of a fleet on a copy.
func (f *fleetForm) onto(was inventory.SnapshotState) inventory.SnapshotState {
	out := inventory.SnapshotState{Version: f.Version, Nodes: was.Nodes, Holds: was.Holds, InForce: was.InForce}
	if len(f.Nodes)+len(f.Gone) > 0 {
		out.Nodes = slices.Clone(was.Nodes)
	}
	for i := range f.Nodes {
		at, there := findNode(out.Nodes, f.Nodes[i].ID)
		if there {
			out.Nodes[at] = f.Nodes[i].onto(out.Nodes[at])
		} else {
			out.Nodes = slices.Insert(out.Nodes, at, f.Nodes[i].onto(nil))
		}
	}
	for _, id := range f.Gone {
		if at, there := findNode(out.Nodes, id); there {
			out.Nodes = slices.Delete(out.Nodes, at, at+1)
		}
	}
	if f.Holds != nil {
		out.Holds, out.InForce = f.Holds.All, f.Holds.InForce
	}
	return out
}

func findNode(nodes []*inventory.Node, id inventory.NodeID) (int, bool) {
	return slices.BinarySearchFunc(nodes, id, func(n *inventory.Node, id inventory.NodeID) int { return cmp.Compare(n.ID, id) })
}

// withRunning shows engines that answer requests as such: few, and only those of
// models that idle away.
func withRunning(st inventory.SnapshotState, running map[string]inventory.NodeID) inventory.SnapshotState {
	if len(running) == 0 {
		return st
	}
	st.Nodes = slices.Clone(st.Nodes)
	copied := map[inventory.NodeID]bool{}
	for shard, id := range running {
		at, there := findNode(st.Nodes, id)
		if !there {
			continue
		}
		if !copied[id] {
			n := *st.Nodes[at]
			n.Shards = slices.Clone(n.Shards)
			st.Nodes[at], copied[id] = &n, true
		}
		for i, s := range st.Nodes[at].Shards {
			if s.ID == shard {
				st.Nodes[at].Shards[i].Use = &inventory.ShardUse{Running: 1}
			}
		}
	}
	return st
}
