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
	if h.orders != nil && epoch < h.orders.epoch {
		return fmt.Errorf("%w: epoch %d, after %d", ErrStale, epoch, h.orders.epoch)
	}
	c := change{to: map[inventory.NodeID]*nodeOrders{}}
	if h.orders != nil {
		c.from = h.orders.nodes
	}
	fleet := h.cfg.Registry.Snapshot()
	h.rewrite(&c, replicas, fleet)
	c.install(fleet)
	if h.cfg.Prefetches != nil {
		ahead := map[inventory.NodeID][]protocol.DesiredFetch{}
		for _, p := range h.cfg.Prefetches(fleet) {
			ahead[p.Node] = append(ahead[p.Node], desiredFetch(p))
		}
		c.fetch(ahead)
	}
	h.replace(epoch, c.to)
	return nil
}

// rewrite notes what is ordered otherwise than at the last time. Thousands of
// replicas come each time, and all but a few of them came before.
func (h *Hub) rewrite(c *change, replicas []reconciler.Replica, fleet *inventory.Snapshot) {
	h.turn++
	came := 0
	for i := range replicas {
		r := &replicas[i]
		w := h.written[r.ID]
		if w == nil || w.turn != h.turn {
			came++
		}
		if w != nil && w.holds(r, fleet) {
			w.from, w.turn = r, h.turn
			continue
		}
		if w != nil {
			c.drop(w)
		}
		w = h.writeReplica(r, fleet)
		h.written[r.ID] = w
		c.add(w)
	}
	if came == len(h.written) {
		return
	}
	for id, w := range h.written {
		if w.turn != h.turn {
			c.drop(w)
			delete(h.written, id)
		}
	}
}

// change is what nodes are ordered otherwise.
type change struct {
	from, to map[inventory.NodeID]*nodeOrders
}

// node is a node's orders to be changed: a copy of what they are.
func (c *change) node(id inventory.NodeID) *nodeOrders {
	n := c.to[id]
	if n == nil {
		n = &nodeOrders{}
		if was := c.from[id]; was != nil {
			n.shards, n.builds, n.fetch = slices.Clone(was.shards), was.builds, was.fetch
		}
		c.to[id] = n
	}
	return n
}

func (c *change) drop(w *written) {
	for i, d := range w.shards {
		n := c.node(w.from.Shards[i].Spot.Node)
		n.shards = slices.DeleteFunc(n.shards, func(o *protocol.DesiredShard) bool { return o == d })
	}
}

func (c *change) add(w *written) {
	for i, d := range w.shards {
		n := c.node(w.from.Shards[i].Spot.Node)
		at, _ := slices.BinarySearchFunc(n.shards, d.Shard, func(o *protocol.DesiredShard, name string) int { return cmp.Compare(o.Shard, name) })
		n.shards = slices.Insert(n.shards, at, d)
	}
}

// install notes which engines nodes should have: they are installed before the
// first replica is placed, which needs one.
func (c *change) install(fleet *inventory.Snapshot) {
	for _, n := range fleet.Nodes() {
		var have map[string]string
		if was := c.from[n.ID]; was != nil {
			have = was.builds
		}
		if !n.WantsBuilds(have) {
			c.node(n.ID).builds = maps.Clone(n.WantedBuilds())
		}
	}
	for id, was := range c.from {
		if len(was.builds) > 0 && fleet.Node(id) == nil {
			c.node(id).builds = nil // it was removed
		}
	}
}

// fetch notes which weights nodes should fetch ahead.
func (c *change) fetch(ahead map[inventory.NodeID][]protocol.DesiredFetch) {
	for id, list := range ahead {
		if was := c.from[id]; was == nil || !reflect.DeepEqual(was.fetch, list) {
			c.node(id).fetch = list
		}
	}
	for id, was := range c.from {
		if len(was.fetch) > 0 && len(ahead[id]) == 0 {
			c.node(id).fetch = nil
		}
	}
}

// replace puts new orders in force.
func (h *Hub) replace(epoch int64, to map[inventory.NodeID]*nodeOrders) {
	h.mu.Lock()
	defer h.mu.Unlock()
	same := h.orders != nil && epoch == h.orders.epoch
	if h.orders == nil {
		h.orders = &orders{nodes: make(map[inventory.NodeID]*nodeOrders, len(to))}
	}
	h.orders.epoch = epoch
	for id, n := range to {
		changed := n.follow(h.orders.nodes[id])
		if n.version == 0 {
			continue // nothing was ordered, and nothing is
		}
		h.orders.nodes[id] = n
		if s := h.sessions[id]; same && changed && s != nil {
			s.rouse()
		}
	}
	if same {
		return
	}
	for id, n := range h.orders.nodes { // another epoch numbers anew
		if n.version = 1; n.empty() {
			delete(h.orders.nodes, id)
		}
	}
	for _, s := range h.sessions {
		s.rouse()
	}
}

func (n *nodeOrders) empty() bool {
	return len(n.shards) == 0 && len(n.builds) == 0 && len(n.fetch) == 0
}

// follow gives a node's orders the last version, or the next when they differ.
// A node whose last order went keeps its version, or an agent that has version 7
// would be sent version 1 twice.
func (n *nodeOrders) follow(was *nodeOrders) (changed bool) {
	switch {
	case was == nil && n.empty():
		return false
	case was == nil:
		n.version = 2 // one was the empty list
	case sameShards(was.shards, n.shards) && maps.Equal(was.builds, n.builds) && reflect.DeepEqual(was.fetch, n.fetch):
		n.version = was.version
		return false
	default:
		n.version = was.version + 1
	}
	return true
}

// sameShards looks closer only at what was written anew.
func sameShards(a, b []*protocol.DesiredShard) bool {
	return slices.EqualFunc(a, b, func(a, b *protocol.DesiredShard) bool { return a == b || reflect.DeepEqual(*a, *b) })
}
