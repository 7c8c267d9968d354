package replay

import (
	"fmt"
	"strings"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

// because says what makes an action another one, as far as the attempts to place
// tell. Empty: they do not.
func because(was, is *decidedForm, plan *reconciler.Plan, w, i *actionForm) string {
	switch {
	case placed(w) && placed(i):
		if lastOf(is.Actions, i) != i.ID {
			return "" // the attempt that was written down is the model's last one
		}
		return elsewhere(was, plan, w, i)
	case placed(w) && i == nil:
		t, tried := plan.Traces[w.Model]
		if !tried {
			return "no room is looked for"
		}
		return "no room is found: " + looked(traceOf(&t))
	case placed(i) && w == nil:
		if t := was.Traces[i.Model]; t != nil {
			return "there was no room: " + looked(t)
		}
		return ""
	}
	return ""
}

// lastOf is the last replica that is placed of an action's model.
func lastOf(actions []actionForm, of *actionForm) (id reconciler.ReplicaID) {
	for i := range actions {
		if a := &actions[i]; a.Model == of.Model && placed(a) {
			id = a.ID
		}
	}
	return id
}

func placed(a *actionForm) bool {
	return a != nil && a.Kind == reconciler.Place && a.Replica != nil && len(a.Replica.Shards) > 0
}

// elsewhere says why another node, or another profile, is taken.
func elsewhere(was *decidedForm, plan *reconciler.Plan, w, i *actionForm) string {
	if w.Replica.Profile.Name != i.Replica.Profile.Name {
		if t, tried := plan.Traces[i.Model]; tried {
			return "of its profiles: " + looked(traceOf(&t))
		}
		return "another profile is taken"
	}
	n := 0
	for n < min(len(w.Replica.Shards), len(i.Replica.Shards))-1 && w.Replica.Shards[n].Spot.Node == i.Replica.Shards[n].Spot.Node {
		n++
	}
	from, to := w.Replica.Shards[n].Spot.Node, i.Replica.Shards[n].Spot.Node
	if from == to {
		return ""
	}
	for _, p := range plan.Traces[i.Model].Profiles {
		if p.Profile == i.Replica.Profile.Name {
			before := was.Traces[w.Model]
			if lastOf(was.Actions, w) != w.ID {
				before = nil
			}
			return compared(p, before, from, to)
		}
	}
	return ""
}

// compared says what an attempt found of two nodes.
func compared(p placement.ProfileTrace, was []traceForm, from, to inventory.NodeID) string {
	for _, line := range p.Lines {
		if line.Node == from {
			return fmt.Sprintf("%s is refused: %s: %s", from, line.Reason, line.Text)
		}
	}
	var parts []string
	for _, node := range []inventory.NodeID{to, from} {
		for _, b := range p.Best {
			if b.Node == node {
				parts = append(parts, fmt.Sprintf("%s scores %.6g", node, b.Total))
			}
		}
	}
	for _, t := range was {
		for _, b := range t.Best {
			if t.Profile == p.Profile && b.Node == from {
				parts = append(parts, fmt.Sprintf("%s scored %.6g", from, b.Total))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// looked is an attempt in a line.
func looked(profiles []traceForm) string {
	if len(profiles) == 0 {
		return "none was tried"
	}
	out := make([]string, len(profiles))
	for i, p := range profiles {
		t := placement.ProfileTrace{Profile: p.Profile, Looked: p.Looked, Chosen: p.Chosen, Counts: p.Counts}
		out[i] = p.Profile + ": " + t.String()
		if len(p.Best) > 0 {
			out[i] += fmt.Sprintf(", best %s with %.6g", p.Best[0].Node, p.Best[0].Total)
		}
	}
	return strings.Join(out, "; ")
}
