package view

import (
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// HoldPlan is what carrying out a domain would do. Nothing is changed by it.
type HoldPlan struct {
	Models    []HoldModel `json:"models" doc:"those with a replica there, in the order in which they go: lower classes first"`
	Shortfall []string    `json:"shortfall" doc:"what fits nowhere else, as sentences"`
	Seconds   int64       `json:"seconds" doc:"an estimate: class after class, the slowest start measured of each"`
	Notes     []string    `json:"notes,omitempty" doc:"what else to know"`
}

// The two answers to what a hold would do name each other.
const (
	// HoldPlanNote stands with a HoldPlan that has replicas.
	HoldPlanNote = "This asks the placer for one replacement after the other, and knows neither preemption nor moves to make room. " +
		"ctl plan hold, with --from now, plays the control loop's own steps out: where the two differ, trust that one. This one has the order and the time."
	// HoldChangeNote stands with a ChangePlan in which a hold does something.
	HoldChangeNote = "This plays the control loop's own steps out, and says nothing of their order or how long they take: ctl holds plan estimates both, without preemption and moves."
)

// HoldModel is one model with replicas in the domain.
type HoldModel struct {
	Model string     `json:"model"`
	Class string     `json:"class"`
	Ready int        `json:"ready" doc:"its ready replicas, wherever they are"`
	Floor int        `json:"floor" doc:"how many people want at least"`
	Moves []HoldMove `json:"moves"`
}

// HoldMove is one replica that is replaced elsewhere.
type HoldMove struct {
	Replica string   `json:"replica"`
	From    []string `json:"from"`
	To      []string `json:"to" doc:"empty: it fits nowhere else"`
	Profile string   `json:"profile,omitempty"`
}

// HoldPlanOf builds a plan.
func HoldPlanOf(p reconciler.HoldPlan) HoldPlan {
	v := HoldPlan{Models: []HoldModel{}, Shortfall: listed(p.Shortfall), Seconds: int64(p.Lasts / time.Second)}
	for _, m := range p.Models {
		x := HoldModel{Model: string(m.Model), Class: string(m.Class.OrDefault()), Ready: m.Ready, Floor: m.Floor, Moves: []HoldMove{}}
		for _, move := range m.Moves {
			x.Moves = append(x.Moves, HoldMove{Replica: string(move.Replica), From: ids(move.From), To: ids(move.To), Profile: move.Profile})
		}
		v.Models = append(v.Models, x)
	}
	return v
}

func ids(nodes []inventory.NodeID) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = string(n)
	}
	return out
}
