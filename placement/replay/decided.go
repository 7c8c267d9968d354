package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

// decided is a plan as it is written down, with the memory after it.
func decided(plan *reconciler.Plan, after reconciler.Memory) (decidedForm, error) {
	f := decidedForm{Events: plan.Events, Brake: plan.Brake, OrdersDone: plan.OrdersDone, WakeAt: plan.WakeAt}
	for i := range plan.Actions {
		a := &plan.Actions[i]
		form := actionForm{Kind: a.Kind, ID: a.Replica.ID, Model: a.Replica.Model, Why: a.Why}
		if a.Kind != reconciler.Forget {
			r := replicaForm(a.Replica)
			form.Replica = &r
		}
		f.Actions = append(f.Actions, form)
	}
	for name, t := range plan.Traces {
		if f.Traces == nil {
			f.Traces = make(map[catalog.Name][]traceForm, len(plan.Traces))
		}
		f.Traces[name] = traceOf(&t)
	}
	var err error
	if f.Health, err = sum(plan.Health); err != nil {
		return f, err
	}
	f.Memory, err = memorySum(after)
	return f, err
}

func traceOf(t *placement.Trace) []traceForm {
	out := make([]traceForm, len(t.Profiles))
	for i := range t.Profiles {
		p := &t.Profiles[i]
		out[i] = traceForm{Profile: p.Profile, Looked: p.Looked, Chosen: p.Chosen, Counts: p.Counts}
		for _, b := range p.Best {
			// Only an embedder's scorer gives what is no number, and JSON has none.
			if !math.IsNaN(b.Total) && !math.IsInf(b.Total, 0) {
				out[i].Best = append(out[i].Best, bestForm{Node: b.Node, Total: b.Total})
			}
		}
	}
	return out
}

// memorySum tells memories apart. A fresh one and an empty one are the same. Of
// what a replica was that a rollout stopped it takes which one that is: the rest
// may hold secrets, which are not there when it is decided again.
func memorySum(m reconciler.Memory) (string, error) {
	f := memoryBetween(reconciler.Memory{}, m, catalog.NewIndex(0, nil))
	if f == nil {
		return "", nil
	}
	if f.Mix != nil {
		for i := range f.Mix.Parts {
			f.Mix.Parts[i].Was = nil
		}
	}
	for name, m := range f.Models.Put {
		if m.Former != nil {
			m.Former = &reconciler.Former{ID: m.Former.ID, By: m.Former.By, Back: m.Former.Back}
			f.Models.Put[name] = m
		}
	}
	return sum(f)
}

// sum tells values apart by their JSON, in which maps are in order.
func sum(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:8]), nil
}
