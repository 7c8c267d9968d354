package fleetsim

import (
	"errors"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// What the control loop does, and when, as package placement/control has it.
const (
	coalesce   = 50 * time.Millisecond
	resync     = 5 * time.Second
	tickEvery  = time.Second
	sweepEvery = time.Minute
	storeRetry = time.Second
	maxTries   = 3
	// thinks and writes are the most that deciding and keeping take: time in
	// which the fleet may change, and the process end.
	thinks = 10 * time.Millisecond
	writes = 20 * time.Millisecond
)

// control is one process of the control plane: inventory, hub and loop.
type control struct {
	s     *sim
	fleet *registry
	hub   hub
	epoch int64
	alive bool
	// stalledUntil is until when the process stands still.
	stalledUntil time.Time
	since        time.Time

	replicas []reconciler.Replica
	memory   reconciler.Memory
	fresh    bool
	// busy: a pass is under way. again: something changed meanwhile.
	busy, again bool
	lastPass    time.Time
	// due is when the next pass is, so that one is not asked for twice; calls
	// counts what asked, of which the last one holds.
	due   time.Time
	calls int
	// plan is the newest one, acted when one last ordered anything.
	plan  reconciler.Plan
	acted time.Time
}

// newControl begins a process, which leads from then on. A first one finds
// nothing kept.
func (s *sim) newControl(again bool) *control {
	if !s.rows.seeded {
		seed(&s.rows.settings, s.sc.fleet)
		s.rows.seeded = true
	}
	c := &control{s: s, fleet: openRegistry(&s.rows.settings, s.now), hub: newHub(), alive: true, since: s.now, epoch: s.rows.lead()}
	s.router.restart(s.now)
	if again {
		s.report.Takeovers++
	}
	c.tick(0)
	c.look()
	return c
}

func (c *control) isUp() bool { return c.alive && !c.s.now.Before(c.stalledUntil) }

// die ends the process, whatever it was about to do.
func (c *control) die() { c.alive = false }

func (c *control) stall(span time.Duration) {
	if until := c.s.now.Add(span); until.After(c.stalledUntil) {
		c.stalledUntil = until
	}
}

// tick lets silence grow, about once a second.
func (c *control) tick(n int) {
	if c.postponed(func() { c.tick(n) }) {
		return
	}
	before := c.fleet.Snapshot()
	c.fleet.Tick(c.s.now)
	c.s.report.silences(before, c.fleet.Snapshot())
	if n%int(sweepEvery/tickEvery) == 0 {
		c.fleet.sweep(c.s.now)
	}
	c.news()
	c.s.after(tickEvery, func() { c.tick(n + 1) })
}

// news looks soon when the fleet has changed.
func (c *control) news() {
	if c.fleet.hasNews() {
		c.look()
	}
}

// look asks for a pass as soon as the last one is long enough ago.
func (c *control) look() { c.lookAt(latest(c.s.now, c.lastPass.Add(coalesce))) }

func (c *control) lookAt(t time.Time) {
	if !c.alive {
		return
	}
	if c.busy {
		c.again = true
		return
	}
	if !c.due.IsZero() && !t.Before(c.due) {
		return
	}
	c.calls++
	call := c.calls
	c.due = t
	c.s.at(t, func() {
		if c.calls == call && !c.busy {
			c.pass()
		}
	})
}

// pass looks at the world once and carries out what should happen.
func (c *control) pass() {
	if c.postponed(c.pass) {
		return
	}
	c.due, c.lastPass, c.busy, c.again = time.Time{}, c.s.now, true, false
	if !c.fresh {
		if err := c.reload(); err != nil {
			c.failed(err)
			return
		}
	}
	c.decide(1)
}

// reload reads what was ordered. Everything has its room before anything is
// delivered.
func (c *control) reload() error {
	replicas, memory, err := c.s.rows.load(c.epoch, c.s.now)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	var as []inventory.Allocation
	for i := range replicas {
		known[string(replicas[i].ID)] = true
		as = append(as, spots(&replicas[i])...)
	}
	for _, n := range c.fleet.Snapshot().Nodes() {
		for _, a := range n.Allocations {
			if !known[a.Replica] {
				c.fleet.Release(a.Replica)
			}
		}
	}
	c.fleet.Restore(as)
	c.replicas, c.memory, c.fresh = replicas, memory.Resume(c.memory), true
	c.dispatch(replicas)
	return nil
}

// failed ends a pass that the store did not let be: another process leads, or
// the store is away and is read again before anything else is ordered.
func (c *control) failed(err error) {
	if errors.Is(err, errFenced) {
		c.die()
		return
	}
	c.fresh = false
	c.s.report.StoreFailures++
	c.finish(c.s.now.Add(storeRetry))
}

// finish ends a pass and says when the next one is.
func (c *control) finish(wake time.Time) {
	c.busy = false
	next := c.s.now.Add(resync)
	if !wake.IsZero() && wake.Before(next) {
		next = wake
	}
	c.lookAt(latest(next, c.lastPass.Add(coalesce)))
	if c.again {
		c.look()
	}
}

func (c *control) world() reconciler.World {
	return reconciler.World{
		Now: c.s.now, Catalog: c.s.index, Fleet: c.fleet.Snapshot(), Replicas: c.replicas,
		Traffic: c.s.router.traffic(), Orders: c.s.orders,
	}
}

// decide asks the reconciler. What it wants done takes a moment to be carried
// out, in which the fleet may change under it.
func (c *control) decide(try int) {
	w := c.world()
	plan, memory := c.s.o.Reconciler.Step(w, c.memory)
	c.s.laws.decided(c, w, plan, memory)
	if len(plan.Actions) == 0 {
		c.keep(w, plan, memory)
		return
	}
	c.s.after(c.s.takes(thinks), func() { c.carryOut(w, plan, memory, try) })
}

// carryOut takes the room, then keeps the plan.
func (c *control) carryOut(w reconciler.World, plan reconciler.Plan, memory reconciler.Memory, try int) {
	if c.postponed(func() { c.carryOut(w, plan, memory, try) }) {
		return
	}
	switch err := c.reserve(w.Catalog, plan); {
	case err != nil && try < maxTries:
		c.s.report.Stale++
		c.decide(try + 1)
		return
	case err != nil:
		c.s.report.Stale++
		c.tell(w, plan, memory, Stale)
		c.publish(plan)
		c.finish(plan.WakeAt)
		return
	}
	c.s.laws.reserved(c, plan)
	c.s.after(c.s.takes(writes), func() { c.keep(w, plan, memory) })
}

// keep writes the plan and the memory, and only then lets agents know.
func (c *control) keep(w reconciler.World, plan reconciler.Plan, memory reconciler.Memory) {
	if c.postponed(func() { c.keep(w, plan, memory) }) {
		return
	}
	if err := c.s.rows.write(c.epoch, c.s.now, plan.Actions, memory); err != nil {
		for _, a := range plan.Actions {
			if a.Kind == reconciler.Place {
				c.fleet.Release(string(a.Replica.ID))
			}
		}
		c.tell(w, plan, memory, Failed)
		c.failed(err)
		return
	}
	c.tell(w, plan, memory, Kept)
	c.memory = memory
	c.s.orders = c.s.orders[min(plan.OrdersDone, len(c.s.orders)):]
	if len(plan.Actions) > 0 {
		c.acted = c.s.now
		c.replicas = merge(c.replicas, plan.Actions)
		c.dispatch(c.replicas)
		for _, a := range plan.Actions {
			if a.Kind == reconciler.Forget {
				c.fleet.Release(string(a.Replica.ID))
			}
		}
		c.news()
	}
	c.s.report.passed(c, plan)
	c.s.laws.kept(c, plan)
	c.publish(plan)
	c.finish(plan.WakeAt)
}

// tell lets whoever watches know of a pass.
func (c *control) tell(w reconciler.World, plan reconciler.Plan, after reconciler.Memory, o Outcome) {
	if c.s.o.Passed != nil {
		c.s.o.Passed(Pass{Epoch: c.epoch, World: w, Memory: c.memory, Plan: plan, After: after, Outcome: o})
	}
}

// publish shows routers what is there now.
func (c *control) publish(plan reconciler.Plan) {
	c.plan = plan
	c.s.router.update(c)
}

// reserve takes the room of all that is placed, or of none. Decisions that still
// hold on nodes that changed are kept on their new versions.
func (c *control) reserve(index *catalog.Index, plan reconciler.Plan) error {
	versions, as := plan.Claims()
	err := c.fleet.Reserve(versions, as)
	if err == nil || !errors.Is(err, inventory.ErrStale) {
		return err
	}
	newer, ok := plan.Holds(c.s.o.Reconciler.Placer, c.fleet.Snapshot(), index)
	if !ok {
		return err
	}
	c.s.report.Verified++
	return c.fleet.Reserve(newer, as)
}

func spots(r *reconciler.Replica) []inventory.Allocation {
	out := make([]inventory.Allocation, len(r.Shards))
	for i, sh := range r.Shards {
		out[i] = sh.Spot
	}
	return out
}

func latest(ts ...time.Time) time.Time {
	var out time.Time
	for _, t := range ts {
		if t.After(out) {
			out = t
		}
	}
	return out
}
