package reconciler

import (
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// Plain is the reconciler that looks at every node for every question.
func (r Reconciler) Plain() Reconciler {
	r.ground = func(p placement.Placer, fleet *inventory.Snapshot) ground { return &scanned{p, fleet} }
	return r
}

// scanned is a ground without an index.
type scanned struct {
	placement.Placer
	fleet *inventory.Snapshot
}

func (s *scanned) Choose(req placement.Request) (placement.Decision, placement.Trace) {
	return s.Placer.Choose(s.fleet, req, nil)
}

func (s *scanned) Explain(req placement.Request) (placement.Decision, placement.Trace) {
	return s.Choose(req)
}

func (s *scanned) With(as ...inventory.Allocation) { s.fleet = s.fleet.With(as...) }

func (s *scanned) try(do func(x *placement.Index)) {
	x := placement.NewIndex(s.Placer)
	x.Advance(s.fleet)
	do(x)
}
