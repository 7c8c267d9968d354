package reconciler

import (
	"llmgw.io/llmgw/placement"
)

// Reconciler is the policy. The zero value is the default one.
type Reconciler struct {
	Placer placement.Placer
}

// Step looks at the world once and says what should happen.
//
// Models are taken in order of class, the highest first, so that what room
// there is goes to those that give way to none. A room that this step frees is
// not given out by it: it is free once the plan was carried out, and the next
// step finds it.
func (r Reconciler) Step(w World, m Memory) (Plan, Memory) {
	s := newStep(r.Placer, w, m)
	s.takeOrders()
	for _, g := range s.groups {
		s.observe(g)
		s.fail(g)
		s.forgive(g)
		s.want(g)
		s.restart(g)
		s.evacuate(g)
		s.reunite(g)
		s.scale(g)
		s.handOver(g)
		s.finish(g)
		s.tell(g)
	}
	s.findOrphans()
	return s.result()
}
