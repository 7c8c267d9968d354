package view

import (
	"fmt"
	"time"

	"llmgw.io/llmgw/placement/dryrun"
)

// PlanRequest asks what a change would do: exactly one of its fields.
type PlanRequest struct {
	Model *PlanModel `json:"model,omitempty"`
	Node  *PlanNode  `json:"node,omitempty"`
	Hold  *PlanHold  `json:"hold,omitempty"`
}

// PlanModel is a change of a model: exactly one field beside its name.
type PlanModel struct {
	Name       string            `json:"name"`
	Definition *Model            `json:"definition,omitempty" doc:"a whole definition, new or in place of the one of its name"`
	Scale      *ScaleRequest     `json:"scale,omitempty"`
	Class      string            `json:"class,omitempty" doc:"critical, standard or batch"`
	Resources  *ResourcesRequest `json:"resources,omitempty"`
	Remove     bool              `json:"remove,omitempty"`
}

// PlanNode is a change of a node: exactly one field beside its id.
type PlanNode struct {
	ID     string             `json:"id"`
	State  string             `json:"state,omitempty" doc:"ready, cordoned, draining, lost or removed"`
	Labels map[string]*string `json:"labels,omitempty" doc:"operators' labels; null removes one"`
}

// PlanHold is a hold that is put in force, or released.
type PlanHold struct {
	Domain  string    `json:"domain" doc:"level:name, such as rack:r12-07"`
	From    time.Time `json:"from,omitzero" doc:"when what stands there begins to be carried out; left out: it only keeps new replicas away"`
	Until   time.Time `json:"until,omitzero" doc:"when it ends"`
	Release bool      `json:"release,omitempty"`
}

// ChangePlan is what a change would do, beside what would happen without it.
type ChangePlan struct {
	Placed      []PlannedPlace      `json:"placed" doc:"replicas that come on top"`
	Moved       []PlannedMove       `json:"moved" doc:"replicas that another one replaces"`
	Preempted   []PlannedPreemption `json:"preempted" doc:"replicas that give way to a higher class"`
	Lost        []PlannedLoss       `json:"lost" doc:"replicas that go without another in their place"`
	Unplaceable []PlannedShortage   `json:"unplaceable" doc:"models that lack more replicas than without the change"`
	Notes       []string            `json:"notes,omitempty" doc:"what else to know"`
}

// PlannedPlace is a replica that comes on top.
type PlannedPlace struct {
	Model   string   `json:"model"`
	Profile string   `json:"profile"`
	Nodes   []string `json:"nodes" doc:"in order of rank"`
}

// PlannedMove is a replica that another one replaces.
type PlannedMove struct {
	Replica string   `json:"replica"`
	Model   string   `json:"model"`
	Profile string   `json:"profile" doc:"what the other one runs as"`
	From    []string `json:"from"`
	To      []string `json:"to"`
}

// PlannedPreemption is a replica that gives way.
type PlannedPreemption struct {
	Replica string   `json:"replica"`
	Model   string   `json:"model"`
	By      string   `json:"by" doc:"the model that it gives way to"`
	From    []string `json:"from"`
	To      []string `json:"to,omitempty" doc:"where another one of its model finds room; absent: nowhere"`
}

// PlannedLoss is a replica that goes.
type PlannedLoss struct {
	Replica string   `json:"replica"`
	Model   string   `json:"model"`
	Nodes   []string `json:"nodes"`
	Why     string   `json:"why"`
}

// PlannedShortage is a model that lacks replicas.
type PlannedShortage struct {
	Model   string   `json:"model"`
	Short   int      `json:"short" doc:"how many it lacks"`
	Reasons []string `json:"reasons" doc:"why there is no room, by profile"`
}

// ChangePlanOf builds the answer to a dry run.
func ChangePlanOf(r dryrun.Report) ChangePlan {
	v := ChangePlan{Placed: []PlannedPlace{}, Moved: []PlannedMove{}, Preempted: []PlannedPreemption{}, Lost: []PlannedLoss{}, Unplaceable: []PlannedShortage{}}
	for _, p := range r.Placed {
		v.Placed = append(v.Placed, PlannedPlace{Model: string(p.Model), Profile: p.Profile, Nodes: ids(p.Nodes)})
	}
	for _, m := range r.Moved {
		v.Moved = append(v.Moved, PlannedMove{Replica: string(m.Replica), Model: string(m.To.Model), Profile: m.To.Profile, From: ids(m.From), To: ids(m.To.Nodes)})
	}
	for _, p := range r.Preempted {
		v.Preempted = append(v.Preempted, PlannedPreemption{Replica: string(p.Replica), Model: string(p.Model), By: string(p.By), From: ids(p.From), To: ids(p.To.Nodes)})
	}
	for _, l := range r.Lost {
		v.Lost = append(v.Lost, PlannedLoss{Replica: string(l.Replica), Model: string(l.Model), Nodes: ids(l.Nodes), Why: l.Why})
	}
	for _, u := range r.Unplaceable {
		v.Unplaceable = append(v.Unplaceable, shortageOf(u))
	}
	if n := len(r.Outdated); n > 0 {
		v.Notes = append(v.Notes, OutdatedNote(string(r.Outdated[0].Model), n))
	}
	if r.Brake.On() {
		v.Notes = append(v.Notes, fmt.Sprintf("The brake is set, so what is lost is not replaced for now: %s.", r.Brake.Reason))
	}
	if r.Unsettled {
		v.Notes = append(v.Notes, "It had not come to rest within an hour, so this is not the end of it.")
	}
	return v
}

// OutdatedNote says that n replicas of a model, at least one, run as it was
// defined before, and what replaces them.
func OutdatedNote(model string, n int) string {
	if n == 1 {
		return fmt.Sprintf("1 replica runs as it was defined before; ctl restart --rollout --model %s replaces it.", model)
	}
	return fmt.Sprintf("%d replicas run as they were defined before; ctl restart --rollout --model %s replaces them.", n, model)
}

func shortageOf(u dryrun.Unplaceable) PlannedShortage {
	v := PlannedShortage{Model: string(u.Model), Short: u.Short, Reasons: []string{}}
	for _, p := range u.Trace.Profiles {
		if p.Chosen > 0 {
			continue
		}
		for _, reason := range p.Ordered() {
			v.Reasons = append(v.Reasons, fmt.Sprintf("%s: %d of %d nodes: %s; %s", p.Profile, p.Counts[reason], p.Looked, reason.Text(), reason.Advice()))
		}
	}
	return v
}
