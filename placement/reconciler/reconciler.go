package reconciler

import (
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// Reconciler is the policy. The zero value is the default one.
type Reconciler struct {
	Placer placement.Placer
	// Floor is how many replicas of a model no higher class may take. Nil: as
	// CriticalMinimum says.
	Floor func(m *catalog.Model) int
	// Moves is how many percent of the replicas may be moved elsewhere in an hour,
	// to make room for what is refused, in whole replicas. Zero: none.
	Moves float64

	// ground nil is an index. Tests look at every node instead.
	ground func(p placement.Placer, fleet *inventory.Snapshot) ground
}

// Step looks at the world once and says what should happen.
//
// Models are taken in order of class, the highest first, so that what room
// there is goes to those that give way to none. A room that this step frees is
// not given out by it: it is free once the plan was carried out, and the next
// step finds it.
func (r Reconciler) Step(w World, m Memory) (Plan, Memory) {
	s := newStep(r, w, m)
	s.out = s.outTurn()
	s.keepRoom()
	s.takeOrders()
	s.brake()
	for _, g := range s.groups {
		s.observe(g)
		s.adapt(g)
		s.fail(g)
		s.forgive(g)
		s.giveWay(g)
		s.arrange(g)
		g.forgetFormer()
		s.makeRoom(g)
		s.rearrange(g)
		s.rollInPlace(g)
		s.finish(g)
		s.tell(g)
	}
	s.findOrphans()
	plan, next := s.result()
	s.prepare()
	return plan, next
}

// arrange makes the model's replicas what they should be. Whatever lets one go
// may be what another one waited for, so it goes on until nothing moves; each
// replica leaves once, so it ends.
func (s *step) arrange(g *group) {
	for was := -1; was != g.moves(); {
		was = g.moves()
		s.findAway(g)
		s.want(g)
		s.restart(g)
		s.evacuate(g)
		s.reunite(g)
		s.scale(g)
		s.handOver(g)
	}
}

// moves counts what was placed and what has left.
func (g *group) moves() int {
	n := len(g.units)
	for _, u := range g.units {
		if u.Phase != Run {
			n++
		}
	}
	return n
}
