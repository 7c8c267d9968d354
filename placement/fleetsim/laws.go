package fleetsim

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

// laws are what must hold at every moment, whatever breaks. Those of devices and
// ports are held against the machines as they are; the others against what the
// control plane decides and keeps. heal.go has what must hold in the end.
type laws struct {
	s *sim
	// used are all ids there ever were.
	used map[reconciler.ReplicaID]bool
	// looks counts passes that were decided.
	looks int
}

// idleLooks is of how many passes that want nothing done one is decided again.
const idleLooks = 5

func newLaws(s *sim) *laws { return &laws{s: s, used: map[reconciler.ReplicaID]bool{}} }

// started holds a machine against the law that no device and no port has two
// owners: engines that really run, whoever ordered them.
func (l *laws) started(a *agent, e *engine) {
	for _, id := range sortedNames(a.engines) {
		o := a.engines[id]
		if o == e {
			continue
		}
		if o.port == e.port {
			l.s.violate("port", "engines of %s and %s run on port %d of %s", o.shard, e.shard, e.port, a.id)
		}
		for _, d := range e.spot.Devices {
			if i := slices.IndexFunc(o.spot.Devices, func(x inventory.DeviceShare) bool { return x.Index == d.Index }); i >= 0 &&
				(d.MemoryMB == 0 || o.spot.Devices[i].MemoryMB == 0) {
				l.s.violate("device", "engines of %s and %s run on device %d of %s", o.shard, e.shard, d.Index, a.id)
			}
		}
	}
	l.memory(a, e)
}

// memory: those who share a device never want more than it has.
func (l *laws) memory(a *agent, e *engine) {
	for _, d := range e.spot.Devices {
		if d.MemoryMB == 0 {
			continue
		}
		var sum int64
		for _, o := range a.engines {
			for _, x := range o.spot.Devices {
				if x.Index == d.Index {
					sum += x.MemoryMB
				}
			}
		}
		for _, dev := range a.facts.Devices {
			if dev.Index == d.Index && dev.MemoryMB > 0 && sum > dev.MemoryMB-dev.ForeignMB {
				l.s.violate("memory", "engines reserve %d MiB of device %d of %s, which has %d", sum, d.Index, a.id, dev.MemoryMB-dev.ForeignMB)
			}
		}
	}
}

// applied: an agent never goes back to an earlier leader.
func (l *laws) applied(a *agent, d desired) {
	if d.epoch < a.epoch {
		l.s.violate("epoch", "%s works to epoch %d after %d", a.id, d.epoch, a.epoch)
	}
}

// stopping: nothing that is to run by what is kept is stopped, whoever said so.
func (l *laws) stopping(sh *shard) {
	kept := l.s.rows.replicas
	i, found := slices.BinarySearchFunc(kept, sh.order.replica.ID, func(r reconciler.Replica, id reconciler.ReplicaID) int { return cmpID(r.ID, id) })
	if found && kept[i].Phase == reconciler.Run {
		l.s.violate("stop", "%s is told to stop %s, which is to run", sh.a.id, sh.order.shard)
	}
}

// decided holds a plan against what can be seen before it is carried out.
func (l *laws) decided(c *control, w reconciler.World, plan reconciler.Plan, memory reconciler.Memory) {
	for _, name := range sortedNames(plan.Traces) {
		for _, p := range plan.Traces[name].Profiles {
			sum := p.Chosen
			for _, n := range p.Counts {
				sum += n
			}
			if sum != p.Looked {
				l.s.violate("trace", "%s as %s: looked at %d, but chosen and reasons are %d", name, p.Profile, p.Looked, sum)
			}
		}
	}
	for _, a := range plan.Actions {
		if a.Kind != reconciler.Place {
			continue
		}
		l.place(w.Fleet, a.Replica)
		if memory.Models[a.Replica.Model].Parked {
			l.s.violate("parked", "%s is placed though its model is parked", a.Replica.ID)
		}
	}
	if at := plan.WakeAt; !at.IsZero() && !at.After(w.Now) {
		l.s.violate("wake", "it wants to wake at %s, which is not ahead", clock(at))
	}
	l.preempted(w, plan)
	l.bounds(w, plan, memory)
	if l.s.o.Heal {
		l.again(c, w, plan, memory)
	}
}

// place: a node that is not ready or held gains nothing.
func (l *laws) place(fleet *inventory.Snapshot, r reconciler.Replica) {
	for _, sh := range r.Shards {
		n := fleet.Node(sh.Spot.Node)
		switch {
		case n == nil:
			l.s.violate("gain", "%s is placed on %s, which is not known", r.ID, sh.Spot.Node)
		case n.State() != inventory.StateReady:
			l.s.violate("gain", "%s is placed on %s, which is %s", r.ID, n.ID, n.State())
		case n.Held.Yes():
			l.s.violate("gain", "%s is placed on %s, and %s", r.ID, n.ID, n.Held.Reason)
		}
	}
}

// again: the same world gives the same plan, whatever makes the step quick, and a
// plan applied to its own world leaves nothing to do. Room that it frees, or that
// others wait for, may be of use to the next look.
func (l *laws) again(c *control, w reconciler.World, plan reconciler.Plan, memory reconciler.Memory) {
	if l.looks++; len(plan.Actions) == 0 && l.looks%idleLooks != 0 {
		return
	}
	before := c.memory
	before.Cache, memory.Cache = nil, nil
	twice, m := l.s.o.Reconciler.Step(w, before)
	if m.Cache = nil; !reflect.DeepEqual(plan, twice) || !reflect.DeepEqual(memory, m) {
		l.s.violate("determinism", "one world gave two plans")
	}
	if len(plan.Actions) == 0 {
		return
	}
	for _, a := range plan.Actions {
		if a.Kind == reconciler.Forget {
			return
		}
	}
	for _, h := range plan.Health {
		if h.Coming > 0 {
			return
		}
	}
	if slices.ContainsFunc(w.Fleet.Holds(), func(h inventory.Hold) bool { return !h.From.IsZero() }) {
		return
	}
	for _, a := range plan.Actions {
		if a.Kind == reconciler.Place {
			w.Fleet = w.Fleet.With(spots(&a.Replica)...)
		}
	}
	w.Replicas, w.Orders = merge(w.Replicas, plan.Actions), w.Orders[plan.OrdersDone:]
	if next, _ := l.s.o.Reconciler.Step(w, memory); len(next.Actions) > 0 {
		a := next.Actions[0]
		l.s.violate("again", "a plan that was carried out left something to do: %s %s: %s", a.Kind, a.Replica.ID, a.Why)
	}
}

// preempted: room is taken from strictly lower classes only, for a model that
// waits for it, and never while the brake is set.
func (l *laws) preempted(w reconciler.World, plan reconciler.Plan) {
	for _, e := range plan.Events {
		if e.Kind != reconciler.EventPreempted {
			continue
		}
		i := slices.IndexFunc(plan.Actions, func(a reconciler.Action) bool { return a.Replica.ID == e.Replica })
		if i < 0 {
			l.s.violate("preempt", "%s is told to give way and nothing is ordered", e.Replica)
			continue
		}
		why := plan.Actions[i].Replica.Why
		winner := catalog.Name(why[strings.LastIndexByte(why, ' ')+1:])
		a, okA := w.Catalog.Get(catalog.Name(e.Model))
		b, okB := w.Catalog.Get(winner)
		switch {
		case !okA || !okB:
			l.s.violate("preempt", "%s gives way to %q, and one of them is no model", e.Replica, winner)
		case a.Model.Class.Rank() >= b.Model.Class.Rank():
			l.s.violate("preempt", "%s is %s and gives way to %s, which is %s", e.Replica, a.Model.Class.OrDefault(), winner, b.Model.Class.OrDefault())
		case plan.Brake.On():
			l.s.violate("preempt", "%s gives way to %s while the brake is set", e.Replica, winner)
		}
	}
}

// bounds holds every model against its maximum, and against its minimum while
// there is room.
func (l *laws) bounds(w reconciler.World, plan reconciler.Plan, memory reconciler.Memory) {
	after := merge(w.Replicas, plan.Actions)
	l.notAbove(w, after)
	for _, e := range w.Catalog.Entries() {
		l.notShort(w, after, &e, plan, memory)
	}
}

// notAbove: what runs, and is neither lost nor about to be replaced, is never
// more than allowed.
func (l *laws) notAbove(w reconciler.World, after []reconciler.Replica) {
	replaced := map[reconciler.ReplicaID]bool{}
	for i := range after {
		if r := &after[i]; r.Phase == reconciler.Run && r.Replaces != "" {
			replaced[r.Replaces] = true
		}
	}
	counts := map[catalog.Name]int{}
	for i := range after {
		r := &after[i]
		if r.Phase != reconciler.Run || replaced[r.ID] || r.Restart != "" || !r.DrainBy.IsZero() {
			continue
		}
		if reconciler.StateOf(r, w.Fleet) != reconciler.StateLost {
			counts[r.Model]++
		}
	}
	for _, e := range w.Catalog.Entries() {
		if _, most := e.Model.Bounds(); counts[e.Model.Name] > most {
			l.s.violate("max", "%s has %d replicas and may have %d", e.Model.Name, counts[e.Model.Name], most)
		}
	}
}

// notShort: a model that is short, and may start, is short because the placer
// finds no room for it.
func (l *laws) notShort(w reconciler.World, after []reconciler.Replica, e *catalog.Entry, plan reconciler.Plan, memory reconciler.Memory) {
	name := e.Model.Name
	h, ok := plan.Health[name]
	m := memory.Models[name]
	if !ok || h.Total+h.Coming >= h.Desired || m.Parked || m.Failures > 0 || m.RetryAt.After(w.Now) {
		return
	}
	if h.Unplaceable {
		if m.Former != nil && m.Former.Back {
			return // it is the definition from before that finds no room
		}
		l.fitsNot(w, e, plan)
		return
	}
	for _, r := range slices.Concat(w.Replicas, after) {
		if r.Model != name {
			continue
		}
		// One that restarts in place keeps its place until it is gone, and one that
		// is lost keeps it under the brake.
		if r.Restart == reconciler.InPlace || plan.Brake.On() && reconciler.StateOf(&r, w.Fleet) == reconciler.StateLost {
			return
		}
	}
	l.s.violate("min", "%s has %d of %d, fails nowhere, and nothing was tried", name, h.Total, h.Desired)
}

// fitsNot asks the placer about a model that is called unplaceable, unless room
// is kept for others.
func (l *laws) fitsNot(w reconciler.World, e *catalog.Entry, plan reconciler.Plan) {
	if len(w.Fleet.Holds()) > 0 || slices.ContainsFunc(plan.Actions, func(a reconciler.Action) bool { return a.Kind == reconciler.Place }) {
		return
	}
	for _, o := range plan.Health {
		if o.Coming > 0 {
			return
		}
	}
	d, _ := l.s.o.Reconciler.Placer.Choose(w.Fleet, reconciler.Request(w.Catalog, &e.Model), nil)
	if d.Placed {
		l.s.violate("min", "%s is called unplaceable and fits on %s", e.Model.Name, d.Candidate.Spots[0].Node)
	}
}

// reserved holds the inventory against the law that no device is given twice.
func (l *laws) reserved(c *control, plan reconciler.Plan) {
	fleet := c.fleet.Snapshot()
	for _, a := range plan.Actions {
		if a.Kind != reconciler.Place {
			continue
		}
		l.place(fleet, a.Replica)
		for _, sh := range a.Replica.Shards {
			l.devices(fleet.Node(sh.Spot.Node))
		}
	}
}

func (l *laws) devices(n *inventory.Node) {
	if n == nil {
		return
	}
	for _, d := range n.Facts.Devices {
		use := n.DeviceUse(d.Index)
		free, known := n.ShareableMB(d)
		switch {
		case use.Whole > 1 || use.Whole == 1 && use.Shares > 0:
			l.s.violate("device", "device %d of %s is given to %d whole and shared by %d", d.Index, n.ID, use.Whole, use.Shares)
		case use.Shares > 0 && known && free < 0:
			l.s.violate("memory", "device %d of %s is given out %d MiB too much", d.Index, n.ID, -free)
		}
	}
}

// kept: only who leads writes, and an id is given once.
func (l *laws) kept(c *control, plan reconciler.Plan) {
	if c.epoch != l.s.rows.epoch {
		l.s.violate("epoch", "epoch %d writes after %d", c.epoch, l.s.rows.epoch)
	}
	for _, a := range plan.Actions {
		if a.Kind == reconciler.Place && l.used[a.Replica.ID] {
			l.s.violate("id", "the id %s is given twice", a.Replica.ID)
		}
		if a.Kind == reconciler.Place {
			l.used[a.Replica.ID] = true
		}
		if a.Why == "" {
			l.s.violate("why", "%s of %s without a reason", a.Kind, a.Replica.ID)
		}
	}
}

// occupants are who stands where, for a question about preemption.
func occupants(c *control) []placement.Occupant {
	var out []placement.Occupant
	for i := range c.replicas {
		r := &c.replicas[i]
		if e, ok := c.s.index.Get(r.Model); ok && r.Phase == reconciler.Run {
			out = append(out, placement.Occupant{Replica: string(r.ID), Model: r.Model, Class: e.Model.Class})
		}
	}
	return out
}

// quiet is how long nothing was ordered.
func (c *control) quiet() time.Duration { return c.s.now.Sub(c.acted) }
