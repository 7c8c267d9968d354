package view

import "llmgw.io/llmgw/catalog"

// Target is what a model should have now, and why.
type Target struct {
	Model   string   `json:"model"`
	Desired int      `json:"desired"`
	Why     string   `json:"why" doc:"min, demand, schedule, preempted, parked or held"`
	Signals Signals  `json:"signals"`
	Clamps  []string `json:"clamps" doc:"why desired is not what was asked for"`
}

// Signals are what the target rests on.
type Signals struct {
	Queued    int      `json:"queued" doc:"requests that wait for a replica"`
	Running   int      `json:"running" doc:"requests being answered"`
	TokPerSec *float64 `json:"tok_per_sec,omitempty"`
	Capacity  *float64 `json:"capacity,omitempty"`
}

// TargetOf builds the target of one model.
func TargetOf(w World, e *catalog.Entry) Target {
	h := healthOf(w, &e.Model)
	t := w.View.Traffic.Models[e.Model.Name]
	v := Target{
		Model: string(e.Model.Name), Desired: h.Desired, Why: string(h.Why), Clamps: listed(h.Clamps),
		Signals: Signals{Queued: t.Waiting, Running: t.InFlight},
	}
	if !managed(&e.Model) {
		v.Desired, _ = boundsOf(&e.Model)
	}
	if v.Why == "" {
		v.Why = "min"
	}
	return v
}
