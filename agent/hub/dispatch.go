package hub

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// orders is what is desired of the whole fleet, by node.
type orders struct {
	epoch int64
	nodes map[inventory.NodeID]*nodeOrders
}

// nodeOrders is what is desired of one node. Its version rises with each change
// within an epoch, and begins at one.
type nodeOrders struct {
	version uint64
	shards  []*protocol.DesiredShard // ordered by name
	builds  map[string]string
	fetch   []protocol.DesiredFetch
}

// version is the desired state's of a node.
func (o *orders) version(node inventory.NodeID) uint64 {
	if n := o.nodes[node]; n != nil {
		return n.version
	}
	return 1
}

// of is the node's desired state. A node nothing is ordered for has version
// one and an empty list: that is known, and not the same as not knowing.
func (o *orders) of(node inventory.NodeID) protocol.Desired {
	d := protocol.Desired{Epoch: o.epoch, Version: 1, Shards: []protocol.DesiredShard{}}
	if n := o.nodes[node]; n != nil {
		d.Version, d.Engines, d.Fetch = n.version, n.builds, n.fetch
		for _, s := range n.shards {
			d.Shards = append(d.Shards, *s)
		}
	}
	return d
}

// Dispatch makes the replicas what is desired, whole, and wakes the polls of
// the nodes it changes. It does not wait for agents. An older epoch than the
// last one is refused with an error that matches ErrStale. The replicas, and what
// they refer to, are the hub's from then on.
func (h *Hub) Dispatch(_ context.Context, epoch int64, replicas []reconciler.Replica) error {
	h.dispatching.Lock()
	defer h.dispatching.Unlock()
	fleet := h.cfg.Registry.Snapshot()
	next := make(map[inventory.NodeID]*nodeOrders, len(replicas))
	on := func(node inventory.NodeID) *nodeOrders {
		n := next[node]
		if n == nil {
			n = &nodeOrders{}
			next[node] = n
		}
		return n
	}
	now := make(map[reconciler.ReplicaID]*written, len(replicas))
	for i := range replicas {
		r := &replicas[i]
		w := h.desired(r, fleet)
		now[r.ID] = w
		for j, s := range r.Shards {
			n := on(s.Spot.Node)
			n.shards = append(n.shards, w.shards[j])
		}
	}
	h.written = now
	for _, n := range next {
		if len(n.shards) > 1 {
			slices.SortFunc(n.shards, func(a, b *protocol.DesiredShard) int { return cmp.Compare(a.Shard, b.Shard) })
		}
	}
	// Engines are installed before the first replica is placed, which needs one.
	for _, node := range fleet.Nodes() {
		builds := node.WantedBuilds()
		if len(builds) == 0 {
			continue
		}
		on(node.ID).builds = maps.Clone(builds)
	}
	if h.cfg.Prefetches != nil {
		for _, p := range h.cfg.Prefetches(fleet) {
			n := on(p.Node)
			n.fetch = append(n.fetch, desiredFetch(p))
		}
	}
	return h.replace(epoch, next)
}

func (h *Hub) replace(epoch int64, next map[inventory.NodeID]*nodeOrders) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var last map[inventory.NodeID]*nodeOrders
	same := false
	if h.orders != nil {
		if epoch < h.orders.epoch {
			return fmt.Errorf("%w: epoch %d, after %d", ErrStale, epoch, h.orders.epoch)
		}
		same = epoch == h.orders.epoch
		last = h.orders.nodes
	}
	changed := number(next, last, same)
	h.orders = &orders{epoch: epoch, nodes: next}
	if same {
		for _, id := range changed {
			if s := h.sessions[id]; s != nil {
				s.rouse()
			}
		}
		return nil
	}
	for _, s := range h.sessions {
		s.rouse()
	}
	return nil
}

// number gives each node's orders the last version, or the next when they
// differ, and returns the nodes whose orders do. Another epoch numbers anew.
func number(next, last map[inventory.NodeID]*nodeOrders, same bool) (changed []inventory.NodeID) {
	for id, n := range next {
		switch was := last[id]; {
		case !same:
			n.version = 1
			continue
		case was == nil:
			n.version = 2 // one was the empty list
		case sameShards(was.shards, n.shards) && maps.Equal(was.builds, n.builds) && reflect.DeepEqual(was.fetch, n.fetch):
			n.version = was.version
			continue
		default:
			n.version = was.version + 1
		}
		changed = append(changed, id)
	}
	if !same {
		return nil
	}
	// A node whose last order went keeps its version, or an agent that has
	// version 7 would be sent version 1 twice.
	for id, n := range last {
		if next[id] != nil {
			continue
		}
		if next[id] = emptied(n); next[id] != n {
			changed = append(changed, id)
		}
	}
	return changed
}

// sameShards looks at what was written anew alone.
func sameShards(a, b []*protocol.DesiredShard) bool {
	return slices.EqualFunc(a, b, func(a, b *protocol.DesiredShard) bool { return a == b || reflect.DeepEqual(*a, *b) })
}

func emptied(n *nodeOrders) *nodeOrders {
	if len(n.shards) == 0 && len(n.builds) == 0 && len(n.fetch) == 0 {
		return n
	}
	return &nodeOrders{version: n.version + 1}
}
