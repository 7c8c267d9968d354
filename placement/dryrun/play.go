package dryrun

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

// Bounds of a play. A step that waits is given the time, up to Horizon: enough for
// what leaves a node and fits nowhere else.
const (
	Horizon   = time.Hour
	MostSteps = 2000
)

// Course is how a world went.
type Course struct {
	World  reconciler.World
	Memory reconciler.Memory
	// Last is the plan of the last step.
	Last reconciler.Plan
	// Why is, by replica that had to go, why, and Preempted for which model.
	Why       map[reconciler.ReplicaID]string
	Preempted map[reconciler.ReplicaID]catalog.Name
	// Traces are the last attempts to place each model.
	Traces map[catalog.Name]placement.Trace
	// Settled is false when it had not come to rest within the bounds.
	Settled bool
}

// Play lets a world run until nothing moves. The world and the memory stay as they
// are.
func Play(r reconciler.Reconciler, w reconciler.World, m reconciler.Memory) *Course {
	m.Cache = nil // it is its caller's
	c := &Course{
		World: w, Memory: m,
		Traces: map[catalog.Name]placement.Trace{}, Why: map[reconciler.ReplicaID]string{}, Preempted: map[reconciler.ReplicaID]catalog.Name{},
	}
	end := w.Now.Add(Horizon)
	for range MostSteps {
		c.Last, c.Memory = r.Step(c.World, c.Memory)
		c.World.Orders = c.World.Orders[c.Last.OrdersDone:]
		c.note()
		moved := c.carryOut()
		if c.obey() || moved {
			c.World.Now = c.World.Now.Add(time.Second)
			continue
		}
		if c.Last.WakeAt.IsZero() || c.Last.WakeAt.After(end) {
			c.Settled = true
			break
		}
		c.World.Now = c.Last.WakeAt
	}
	c.Memory.Cache = nil
	return c
}

// note remembers what the plan says of single replicas.
func (c *Course) note() {
	maps.Copy(c.Traces, c.Last.Traces)
	for i := range c.Last.Actions {
		if r := &c.Last.Actions[i].Replica; r.Phase != reconciler.Run && c.Why[r.ID] == "" {
			c.Why[r.ID] = r.Why
		}
	}
	for i := range c.Last.Events {
		if e := &c.Last.Events[i]; e.Kind == reconciler.EventPreempted {
			c.Preempted[e.Replica] = c.Memory.Models[catalog.Name(e.Model)].HeldFor
		}
	}
}

// carryOut makes the plan's actions, and reports whether there were any.
func (c *Course) carryOut() bool {
	if len(c.Last.Actions) == 0 {
		return false
	}
	byID := make(map[reconciler.ReplicaID]reconciler.Replica, len(c.World.Replicas))
	for _, r := range c.World.Replicas {
		byID[r.ID] = r
	}
	fleet, gone := c.World.Fleet, map[inventory.NodeID][]string{}
	var spots []inventory.Allocation
	for _, a := range c.Last.Actions {
		if a.Kind != reconciler.Forget {
			byID[a.Replica.ID] = a.Replica
		} else {
			delete(byID, a.Replica.ID)
		}
		for _, s := range a.Replica.Shards {
			switch a.Kind {
			case reconciler.Place:
				spots = append(spots, s.Spot)
			case reconciler.Forget:
				gone[s.Spot.Node] = append(gone[s.Spot.Node], string(s.ID))
			case reconciler.Update:
			}
		}
	}
	if len(spots) > 0 {
		fleet = fleet.With(spots...)
	}
	c.World.Fleet = edit(fleet, gone, func(n *inventory.Node, shards []string) {
		n.Allocations = slices.DeleteFunc(slices.Clone(n.Allocations), func(a inventory.Allocation) bool { return slices.Contains(shards, a.Shard) })
		n.Shards = slices.DeleteFunc(slices.Clone(n.Shards), func(s inventory.ShardStatus) bool { return slices.Contains(shards, s.ID) })
		n.Version++
	})
	c.World.Replicas = slices.SortedFunc(maps.Values(byID), func(a, b reconciler.Replica) int { return cmp.Compare(a.ID, b.ID) })
	return true
}

// obey lets the agents that are heard do what is ordered, and reports whether
// anything was to be done. What has failed stays failed.
func (c *Course) obey() bool {
	said := map[inventory.NodeID][]inventory.ShardStatus{}
	for i := range c.World.Replicas {
		r := &c.World.Replicas[i]
		want := inventory.ShardReady
		if r.Phase != reconciler.Run {
			want = inventory.ShardStopped
		}
		for k := range r.Shards {
			sh := &r.Shards[k]
			n := c.World.Fleet.Node(sh.Spot.Node)
			if n == nil || n.Hearing != inventory.Heard {
				continue
			}
			st, known := n.Shard(string(sh.ID))
			if known && (st.State == want || st.State == inventory.ShardFailed) {
				continue
			}
			said[n.ID] = append(said[n.ID], inventory.ShardStatus{
				ID: string(sh.ID), Model: string(r.Model), Profile: r.Profile.Name, State: want, Since: c.World.Now,
			})
		}
	}
	c.World.Fleet = edit(c.World.Fleet, said, func(n *inventory.Node, shards []inventory.ShardStatus) {
		n.ShardsKnown = true
		n.Shards = slices.DeleteFunc(slices.Clone(n.Shards), func(s inventory.ShardStatus) bool {
			return slices.ContainsFunc(shards, func(o inventory.ShardStatus) bool { return o.ID == s.ID })
		})
		n.Shards = append(n.Shards, shards...)
		slices.SortFunc(n.Shards, func(a, b inventory.ShardStatus) int { return cmp.Compare(a.ID, b.ID) })
	})
	return len(said) > 0
}

// edit is a fleet in which copies of some nodes are changed.
func edit[T any](fleet *inventory.Snapshot, of map[inventory.NodeID]T, change func(n *inventory.Node, with T)) *inventory.Snapshot {
	if len(of) == 0 {
		return fleet
	}
	nodes := slices.Clone(fleet.Nodes())
	for i, n := range nodes {
		if with, is := of[n.ID]; is {
			c := *n
			change(&c, with)
			nodes[i] = &c
		}
	}
	return inventory.NewSnapshot(fleet.Version()+1, nodes)
}
