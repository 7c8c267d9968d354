package reconciler_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/reconciler"
)

// sandbox is a world that carries plans out at once. Agents do nothing of their
// own: a script or a simulation says what they report.
type sandbox struct {
	now      time.Time
	nodes    map[inventory.NodeID]*inventory.Node
	models   map[catalog.Name]catalog.Entry
	replicas map[reconciler.ReplicaID]reconciler.Replica
	memory   reconciler.Memory
	traffic  reconciler.Traffic
	orders   []reconciler.Order
	version  uint64
	holds    []inventory.Hold
	last     reconciler.Plan
	// aside is what is known to those who only ask.
	aside reconciler.Cache
	// by decides.
	by    reconciler.Reconciler
	was   reconciler.World
	steps int
	// used are all ids there ever were.
	used map[reconciler.ReplicaID]bool
	// homes are the nodes of all shards there ever were.
	homes map[string]inventory.NodeID
}

// newSandbox begins on a Monday at eight.
func newSandbox(fleet string) (*sandbox, error) {
	snap, err := inventorytest.Parse(fleet)
	if err != nil {
		return nil, err
	}
	b := &sandbox{
		now:   time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC),
		nodes: map[inventory.NodeID]*inventory.Node{}, models: map[catalog.Name]catalog.Entry{},
		replicas: map[reconciler.ReplicaID]reconciler.Replica{}, used: map[reconciler.ReplicaID]bool{},
		homes: map[string]inventory.NodeID{}, version: 1, was: reconciler.World{Fleet: snap},
	}
	for _, n := range snap.Nodes() {
		b.nodes[n.ID] = n
	}
	b.holds = snap.Holds()
	b.routersStart()
	return b, nil
}

func (b *sandbox) routersStart() {
	b.traffic = reconciler.Traffic{
		Since:    b.now,
		Models:   map[catalog.Name]reconciler.ModelTraffic{},
		Replicas: map[reconciler.ReplicaID]reconciler.ReplicaTraffic{},
	}
}

// edit changes a node and gives it a new version.
func (b *sandbox) edit(id inventory.NodeID, change func(n *inventory.Node)) error {
	old, ok := b.nodes[id]
	if !ok {
		return fmt.Errorf("there is no node %s", id)
	}
	n := *old
	n.Allocations, n.Shards = slices.Clone(n.Allocations), slices.Clone(n.Shards)
	change(&n)
	b.version++
	n.Version = b.version
	b.nodes[id] = &n
	return nil
}

// say changes what an agent says of its shards, which makes no new version.
func (b *sandbox) say(id inventory.NodeID, change func(n *inventory.Node)) error {
	old, ok := b.nodes[id]
	if !ok {
		return fmt.Errorf("there is no node %s", id)
	}
	n := *old
	n.Shards = slices.Clone(n.Shards)
	change(&n)
	b.nodes[id] = &n
	return nil
}

func (b *sandbox) fleet() *inventory.Snapshot {
	return inventory.NewSnapshot(b.version, slices.Collect(maps.Values(b.nodes))).WithHolds(b.holds, b.now)
}

// world is as it is now. What has not changed lies where it lay before, as in
// earnest.
func (b *sandbox) world() reconciler.World {
	w := b.elsewhere()
	if reflect.DeepEqual(w.Catalog, b.was.Catalog) {
		w.Catalog = b.was.Catalog
	}
	if reflect.DeepEqual(w.Replicas, b.was.Replicas) {
		w.Replicas = b.was.Replicas
	}
	if slices.Equal(w.Fleet.Nodes(), b.was.Fleet.Nodes()) {
		w.Fleet = b.was.Fleet
	}
	b.was = w
	return w
}

// elsewhere is the same, and no part of it lies where it did.
func (b *sandbox) elsewhere() reconciler.World {
	entries := slices.Collect(maps.Values(b.models))
	replicas := slices.SortedFunc(maps.Values(b.replicas), func(x, y reconciler.Replica) int { return cmp.Compare(x.ID, y.ID) })
	return reconciler.World{
		Now: b.now, Catalog: catalog.NewIndex(1, entries), Fleet: b.fleet(),
		Replicas: replicas, Traffic: b.traffic, Orders: b.orders,
	}
}

// step asks once and carries the plan out. It answers the laws that broke.
func (b *sandbox) step() (reconciler.Plan, error) {
	w := b.world()
	before := fmt.Sprintf("%v %v", b.memory, w.Replicas)
	plan, memory := b.by.Step(w, b.memory)
	if err := b.sameAgain(w, plan, memory); err != nil {
		return plan, err
	}
	if after := fmt.Sprintf("%v %v", b.memory, w.Replicas); after != before {
		return plan, fmt.Errorf("the step changed its arguments from\n%s to\n%s", before, after)
	}
	if err := b.check(plan); err != nil {
		return plan, err
	}
	b.memory, b.orders, b.last = memory, b.orders[plan.OrdersDone:], plan
	for _, a := range plan.Actions {
		b.carryOut(a)
	}
	return plan, b.devicesOnce()
}

// sameAgain: the same world gives the same plan again, whatever is remembered of
// earlier ones, and where every node is looked at for every question.
func (b *sandbox) sameAgain(w reconciler.World, plan reconciler.Plan, memory reconciler.Memory) error {
	unknown := b.memory
	unknown.Cache = nil
	b.steps++
	for i, o := range []struct {
		how    string
		by     reconciler.Reconciler
		world  reconciler.World
		memory reconciler.Memory
	}{
		{"again", b.by, w, b.memory},
		{"again in another place", b.by, b.elsewhere(), b.memory},
		{"with nothing known from before", b.by, b.elsewhere(), unknown},
		{"without an index", b.by.Plain(), b.elsewhere(), unknown},
	} {
		if i%2 != b.steps%2 {
			continue // each is asked at every other step
		}
		again, m := o.by.Step(o.world, o.memory)
		m.Cache, memory.Cache = nil, nil
		if !reflect.DeepEqual(plan, again) {
			return fmt.Errorf("the same world gave another plan %s:\n%v\n%v", o.how, plan, again)
		}
		if !reflect.DeepEqual(memory, m) {
			return fmt.Errorf("the same world gave another memory %s:\n%v\n%v", o.how, memory, m)
		}
	}
	return nil
}

func (b *sandbox) carryOut(a reconciler.Action) {
	switch a.Kind {
	case reconciler.Place:
		b.used[a.Replica.ID] = true
		b.replicas[a.Replica.ID] = a.Replica
		for _, s := range a.Replica.Shards {
			b.homes[string(s.ID)] = s.Spot.Node
			b.edit(s.Spot.Node, func(n *inventory.Node) {
				n.Allocations = append(n.Allocations, s.Spot)
				slices.SortFunc(n.Allocations, func(x, y inventory.Allocation) int { return cmp.Compare(x.Shard, y.Shard) })
			})
		}
	case reconciler.Update:
		b.replicas[a.Replica.ID] = a.Replica
	case reconciler.Forget:
		delete(b.replicas, a.Replica.ID)
		for _, s := range a.Replica.Shards {
			b.edit(s.Spot.Node, func(n *inventory.Node) {
				n.Allocations = slices.DeleteFunc(n.Allocations, func(o inventory.Allocation) bool { return o.Replica == string(a.Replica.ID) })
			})
		}
	}
}

// check holds a plan against the laws that can be seen before it is carried out.
func (b *sandbox) check(plan reconciler.Plan) error {
	for _, a := range plan.Actions {
		_, there := b.replicas[a.Replica.ID]
		switch {
		case a.Kind == reconciler.Place && b.used[a.Replica.ID]:
			return fmt.Errorf("the id %s is given twice", a.Replica.ID)
		case a.Kind != reconciler.Place && !there:
			return fmt.Errorf("%s of %s, which is not there", a.Kind, a.Replica.ID)
		case a.Why == "":
			return fmt.Errorf("%s of %s without a reason", a.Kind, a.Replica.ID)
		case a.Kind == reconciler.Place && len(a.Versions) != len(a.Replica.Shards):
			return fmt.Errorf("place %s rests on %d versions for %d shards", a.Replica.ID, len(a.Versions), len(a.Replica.Shards))
		}
		if a.Kind != reconciler.Place {
			continue
		}
		for i, s := range a.Replica.Shards {
			n := b.nodes[s.Spot.Node]
			if n.State() != inventory.StateReady {
				return fmt.Errorf("%s is placed on %s, which is %s", a.Replica.ID, n.ID, n.State())
			}
			if n.Version != a.Versions[i] {
				return fmt.Errorf("%s rests on version %d of %s, which has %d", a.Replica.ID, a.Versions[i], n.ID, n.Version)
			}
		}
	}
	if at := plan.WakeAt; !at.IsZero() && !at.After(b.now) {
		return fmt.Errorf("wake at %s, which is not ahead", at)
	}
	return nil
}

// devicesOnce holds the law that no device is given twice.
func (b *sandbox) devicesOnce() error {
	for _, n := range b.nodes {
		owner := map[int]string{}
		for _, a := range n.Allocations {
			for _, d := range a.Devices {
				if d.MemoryMB > 0 {
					continue
				}
				if o, taken := owner[d.Index]; taken {
					return fmt.Errorf("device %d of %s is given to %s and %s", d.Index, n.ID, o, a.Shard)
				}
				owner[d.Index] = a.Shard
			}
		}
	}
	return nil
}

// report is what an agent says of one shard.
func (b *sandbox) report(node inventory.NodeID, st inventory.ShardStatus) error {
	st.Since = b.now
	return b.say(node, func(n *inventory.Node) {
		i := slices.IndexFunc(n.Shards, func(o inventory.ShardStatus) bool { return o.ID == st.ID })
		if i < 0 {
			n.Shards = append(n.Shards, st)
		} else {
			n.Shards[i] = st
		}
		slices.SortFunc(n.Shards, func(x, y inventory.ShardStatus) int { return cmp.Compare(x.ID, y.ID) })
	})
}

func (b *sandbox) unlist(node inventory.NodeID, shard string) error {
	return b.say(node, func(n *inventory.Node) {
		n.Shards = slices.DeleteFunc(n.Shards, func(o inventory.ShardStatus) bool { return o.ID == shard })
	})
}

// restartControl is a new control plane on the same store: what was ordered and
// remembered is there, nothing has been heard yet.
func (b *sandbox) restartControl() error {
	kept := map[catalog.Name]reconciler.ModelMemory{}
	for name, m := range b.memory.Models {
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		var back reconciler.ModelMemory
		if err := json.Unmarshal(data, &back); err != nil {
			return err
		}
		kept[name] = back
	}
	b.memory = reconciler.Memory{Next: b.memory.Next, Models: kept}
	b.routersStart()
	b.traffic.Since = time.Time{}
	for id := range b.nodes {
		b.edit(id, func(n *inventory.Node) {
			n.Hearing, n.ShardsKnown, n.Shards = inventory.Unreachable, false, nil
		})
	}
	return nil
}
