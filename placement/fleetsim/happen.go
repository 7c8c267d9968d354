package fleetsim

import (
	"fmt"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

func (s *sim) happen(e *event) {
	v := verbs()[e.verb]
	s.report.Events++
	v.do(s, e)
}

func (s *sim) edit(e *event) { s.define(&e.model) }

func (s *sim) remove(e *event) {
	delete(s.entries, e.name)
	s.reindex()
}

func (s *sim) ask(e *event) {
	for range max(1, e.n) {
		s.router.take(e.name, e.span)
	}
}

// load lets requests come one after the other at random, as many people who do
// not know of each other send them.
func (s *sim) load(e *event) {
	until := Begin().Add(e.until)
	if e.until == 0 {
		until = s.end
	}
	var next func()
	next = func() {
		wait := time.Duration(s.rng.ExpFloat64() / e.rate * float64(time.Second))
		if !s.now.Add(wait).Before(until) {
			return
		}
		s.after(wait, func() {
			s.router.take(e.name, e.span)
			next()
		})
	}
	next()
}

func (s *sim) retry(e *event) { s.order1(reconciler.Order{Retry: e.name}) }

// restart orders it of every replica the model has, as a person would.
func (s *sim) restart(e *event) {
	for _, r := range s.control.replicas {
		if r.Model == e.name && r.Phase == reconciler.Run {
			s.order1(reconciler.Order{Restart: r.ID, Mode: reconciler.RestartMode(e.word)})
		}
	}
}

func (s *sim) releaseBrake(*event) { s.order1(reconciler.Order{ReleaseBrake: true}) }

// order1 gives one order of a person, which waits until a control plane takes it.
func (s *sim) order1(o reconciler.Order) {
	s.orders = append(s.orders, o)
	s.wake()
}

func (s *sim) breakEngines(e *event) {
	until := s.now.Add(e.span)
	if e.span == 0 {
		until = s.end.Add(time.Hour)
	}
	s.broken[e.name] = until
}

func (s *sim) isBroken(name catalog.Name) bool { return s.now.Before(s.broken[name]) }

// exit ends an engine of each node, the first by id.
func (s *sim) exit(e *event) {
	for _, a := range s.some(e.on) {
		a.lose()
	}
}

func (s *sim) crash(e *event) {
	for _, a := range s.some(e.on) {
		a.powerOff(e.span)
	}
}

func (s *sim) endAgent(e *event) {
	for _, a := range s.some(e.on) {
		a.end(e.span)
	}
}

// spoilDevice gives the first device of each node a problem, of which the engine
// on it dies.
func (s *sim) spoilDevice(e *event) {
	for _, a := range s.some(e.on) {
		a.spoil("it has fallen off the bus")
		if e.span > 0 {
			s.after(e.span, func() { a.spoil("") })
		}
	}
}

// cut keeps agents and control planes apart. Routers reach engines by another
// way.
func (s *sim) cut(e *event) {
	until := s.now.Add(e.span)
	if e.span == 0 {
		until = s.end.Add(time.Hour)
	}
	for _, a := range s.some(e.on) {
		a.cutUntil = until
	}
}

// wish is what a person wants of nodes. Nobody takes it while no control plane
// is there, so it is said again then.
func (s *sim) wish(e *event) {
	s.admin(func(c *control) error {
		w, _ := inventory.WishOf(inventory.NodeState(e.word))
		for _, a := range s.some(e.on) {
			if err := c.fleet.setWish(a.id, w); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *sim) forget(e *event) {
	s.admin(func(c *control) error {
		for _, a := range s.some(e.on) {
			if err := c.fleet.forget(a.id); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *sim) hold(e *event) {
	d, _ := inventory.ParseDomain(e.on)
	h := inventory.Hold{Domain: d, Reason: e.reason}
	if e.hasFrom {
		h.From = s.now.Add(e.from)
	}
	if e.until > 0 {
		h.Until = s.now.Add(e.until)
	}
	s.admin(func(c *control) error { return c.fleet.hold(h, s.now) })
}

func (s *sim) unhold(e *event) {
	d, _ := inventory.ParseDomain(e.on)
	s.admin(func(c *control) error { return c.fleet.unhold(d, s.now) })
}

// adminTries is how often a person tries again, once a second, where no control
// plane answers.
const adminTries = 600

// admin asks the control plane for a change; what it refuses is noted.
func (s *sim) admin(do func(c *control) error) {
	var try func(left int)
	try = func(left int) {
		if c := s.control; c.isUp() {
			if err := do(c); err != nil {
				s.report.note(s.now, fmt.Sprintf("refused: %v", err))
			}
			c.look()
			return
		}
		if left > 0 {
			s.after(time.Second, func() { try(left - 1) })
		}
	}
	try(adminTries)
}

// upset is what befalls the control plane.
func (s *sim) upset(e *event) {
	switch e.word {
	case "crash":
		s.control.die()
		s.after(e.span, func() { s.control = s.newControl(true) })
	case "stall":
		s.control.stall(e.span)
	case "failover":
		// The old one stands still and another leads once the lease has run out;
		// when the old one wakes up it believes to lead.
		old := s.control
		old.stall(e.span)
		s.after(leaseLife, func() {
			if s.control == old {
				s.old, s.control = old, s.newControl(true)
			}
		})
	}
}

func (s *sim) loseStore(e *event) { s.rows.awayUntil = s.now.Add(e.span) }
