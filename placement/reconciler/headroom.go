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
	// Help is what would make room for the first that does not fit. None where
	// the limit was reached without.
	Help Help
}

// Headroom tries up to limit more replicas of a model on a copy of the fleet, and
// then in the room of lower classes, as Step would take it. An unknown model is an
// error that matches ErrNoModel. c nil: nothing is known from before.
func (r Reconciler) Headroom(v *View, model catalog.Name, limit int, c *Cache) (Headroom, error) {
	entry, ok := v.Catalog.Get(model)
	if !ok {
		return Headroom{}, fmt.Errorf("%w: %s", ErrNoModel, model)
	}
	var out Headroom
	s := r.lookAt(v, c)
	req := s.viewed(v, &entry.Model)
	s.ground.try(func(x *placement.Index) {
		out.Headroom = x.Headroom(req, limit)
		if out.Limited {
			return
		}
		for i, spot := range out.Spots {
			x.With(spot.Allocations(string(model), fmt.Sprintf("%s/more-%d", model, i))...)
		}
		_, out.Blocked = x.Explain(req)
		out.Help = v.help(x, req)
		if !v.Brake.On() {
			s.preempting(x, req, min(limit-len(out.Spots), MostPreempting), &out)
		}
	})
	return out, nil
}

// lookAt is a step that does nothing: what is asked about a view is asked of it.
func (r Reconciler) lookAt(v *View, c *Cache) *step {
	w := World{Now: v.At, Catalog: v.Catalog, Fleet: v.Fleet, Replicas: v.Replicas}
	return newStep(r, w, Memory{Mix: v.Mix, Cache: c})
}

func (s *step) preempting(x *placement.Index, req placement.Request, limit int, out *Headroom) {
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
