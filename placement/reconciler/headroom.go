package reconciler

import (
	"fmt"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
)

// MostPreempting is how many replicas Headroom looks for, at most, in the room of
// others: each is a search of its own.
const MostPreempting = 16

// Headroom is how many more replicas of a model fit.
type Headroom struct {
	placement.Headroom
	// Preempting has one entry for each replica that would fit beyond those if
	// lower classes gave way, with who would, up to MostPreempting. None where
	// the limit was reached without.
	Preempting []placement.Preemption
}

// Headroom tries up to limit more replicas of a model on a copy of the fleet, and
// then in the room of lower classes, as Step would take it. An unknown model is an
// error that matches ErrNoModel.
func (r Reconciler) Headroom(v *View, model catalog.Name, limit int) (Headroom, error) {
	entry, ok := v.Catalog.Get(model)
	if !ok {
		return Headroom{}, fmt.Errorf("%w: %s", ErrNoModel, model)
	}
	req := Request(&entry.Model)
	fleet := withOrdered(v.Fleet, v.Replicas)
	out := Headroom{Headroom: r.Placer.Headroom(fleet, req, limit)}
	if out.Limited || v.Brake.On() {
		return out, nil
	}
	x := placement.NewIndex(r.Placer)
	x.Advance(fleet)
	for i, c := range out.Spots {
		x.With(c.Allocations(string(model), fmt.Sprintf("%s/more-%d", model, i))...)
	}
	r.preempting(x, v, req, min(limit-len(out.Spots), MostPreempting), &out)
	return out, nil
}

func (r Reconciler) preempting(x *placement.Index, v *View, req placement.Request, limit int, out *Headroom) {
	s := newStep(r, World{Now: v.At, Catalog: v.Catalog, Fleet: v.Fleet, Replicas: v.Replicas}, Memory{})
	g := s.group(req.Model.Name)
	from := x.Preempter(req, s.standing(g), s.floors())
	for len(out.Preempting) < limit {
		p := from.Next()
		if !p.Decision.Placed {
			return
		}
		x.With(p.Decision.Candidate.Allocations(string(g.name), fmt.Sprintf("%s/instead-%d", g.name, len(out.Preempting)))...)
		out.Preempting = append(out.Preempting, p)
	}
}
