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
	shards  []protocol.DesiredShard
	builds  map[string]string
}

// of is the node's desired state. A node nothing is ordered for has version
// one and an empty list: that is known, and not the same as not knowing.
func (o *orders) of(node inventory.NodeID) protocol.Desired {
	n := o.nodes[node]
	if n == nil {
		return protocol.Desired{Epoch: o.epoch, Version: 1, Shards: []protocol.DesiredShard{}}
	}
	return protocol.Desired{Epoch: o.epoch, Version: n.version, Shards: n.shards, Engines: n.builds}
}

// Dispatch makes the replicas what is desired, whole, and wakes the polls of
// the nodes it changes. It does not wait for agents. An older epoch than the
// last one is refused with an error that matches ErrStale.
func (h *Hub) Dispatch(_ context.Context, epoch int64, replicas []reconciler.Replica) error {
	fleet := h.cfg.Registry.Snapshot()
	next := map[inventory.NodeID]*nodeOrders{}
	for i := range replicas {
		r := &replicas[i]
		for _, s := range r.Shards {
			n := next[s.Spot.Node]
			if n == nil {
				n = &nodeOrders{}
				next[s.Spot.Node] = n
			}
			n.shards = append(n.shards, desiredShard(r, s, fleet, h.cfg.EngineKey))
		}
	}
	for _, n := range next {
		slices.SortFunc(n.shards, func(a, b protocol.DesiredShard) int { return cmp.Compare(a.Shard, b.Shard) })
	}
	// Engines are installed before the first replica is placed, which needs one.
	for _, node := range fleet.Nodes() {
		builds := node.WantedBuilds()
		if len(builds) == 0 {
			continue
		}
		if next[node.ID] == nil {
			next[node.ID] = &nodeOrders{shards: []protocol.DesiredShard{}}
		}
		next[node.ID].builds = maps.Clone(builds)
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
	number(next, last, same)
	// A node whose last order went keeps its version, or an agent that has
	// version 7 would be sent version 1 twice.
	for id, n := range last {
		if same && next[id] == nil {
			next[id] = emptied(n)
		}
	}
	h.orders = &orders{epoch: epoch, nodes: next}
	for id, s := range h.sessions {
		if !same || changed(last[id], next[id]) {
			s.rouse()
		}
	}
	return nil
}

// number gives each node's orders the last version, or the next when they
// differ.
func number(next, last map[inventory.NodeID]*nodeOrders, same bool) {
	for id, n := range next {
		switch was := last[id]; {
		case !same:
			n.version = 1
		case was == nil:
			n.version = 2 // one was the empty list
		case reflect.DeepEqual(was.shards, n.shards) && maps.Equal(was.builds, n.builds):
			n.version = was.version
		default:
			n.version = was.version + 1
		}
	}
}

func emptied(n *nodeOrders) *nodeOrders {
	if len(n.shards) == 0 && len(n.builds) == 0 {
		return n
	}
	return &nodeOrders{version: n.version + 1, shards: []protocol.DesiredShard{}}
}

func changed(was, is *nodeOrders) bool {
	switch {
	case was == nil || is == nil:
		return was != is
	default:
		return was.version != is.version
	}
}
