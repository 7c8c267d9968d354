package view

import (
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// Summary is the cluster at one glance.
type Summary struct {
	Version       string               `json:"version"`
	UptimeSeconds int64                `json:"uptime_seconds"`
	Leader        string               `json:"leader,omitempty"`
	Nodes         map[string]int       `json:"nodes" doc:"nodes by state; every state is there"`
	GPUs          map[string]GPUCounts `json:"gpus" doc:"devices by class"`
	Models        ModelCounts          `json:"models"`
	Replicas      map[string]int       `json:"replicas" doc:"replicas by state"`
	Brake         *Brake               `json:"brake,omitempty" doc:"set while rescheduling is stopped after a mass loss"`
	Store         Store                `json:"store"`
}

// GPUCounts are the devices of one class.
type GPUCounts struct {
	Total     int `json:"total"`
	Free      int `json:"free"`
	Unhealthy int `json:"unhealthy"`
}

// ModelCounts are models by how they do. Parked and unplaceable ones are short
// too.
type ModelCounts struct {
	Ready       int `json:"ready"`
	Short       int `json:"short"`
	Parked      int `json:"parked"`
	Unplaceable int `json:"unplaceable"`
	External    int `json:"external"`
}

// Brake says why rescheduling is stopped.
type Brake struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// Store is what is kept where.
type Store struct {
	Kind    string        `json:"kind" doc:"sqlite, postgres, memory, or none"`
	Members []StoreMember `json:"members,omitempty"`
}

// StoreMember is one server of a replicated store.
type StoreMember struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	State    string `json:"state"`
	LagBytes *int64 `json:"lag_bytes,omitempty"`
}

// Process is what the summary says of the control plane itself.
type Process struct {
	Version string
	Started time.Time
	// Leader is who leads. Empty: not known here.
	Leader string
	// StoreKind empty means that there is none.
	StoreKind string
}

// SummaryOf counts.
func SummaryOf(w World, p Process) Summary {
	v := Summary{
		Version: p.Version, UptimeSeconds: seconds(w.Now.Sub(p.Started)), Leader: p.Leader,
		Nodes: map[string]int{}, GPUs: map[string]GPUCounts{}, Replicas: map[string]int{}, Store: Store{Kind: p.StoreKind},
	}
	if v.Store.Kind == "" {
		v.Store.Kind = "none"
	}
	if b := w.View.Brake; b.On() {
		v.Brake = &Brake{Since: b.Since.UTC(), Reason: b.Reason}
	}
	for _, s := range inventory.NodeStates {
		v.Nodes[string(s)] = 0
	}
	for _, n := range w.nodes() {
		v.Nodes[string(n.State())]++
		for _, c := range NodeOf(w, n).GPUsByClass {
			sum := v.GPUs[c.Class]
			v.GPUs[c.Class] = GPUCounts{Total: sum.Total + c.Total, Free: sum.Free + c.Free, Unhealthy: sum.Unhealthy + c.Unhealthy}
		}
	}
	for i := range w.View.Replicas {
		v.Replicas[string(reconciler.StateOf(&w.View.Replicas[i], w.View.Fleet))]++
	}
	entries := w.entries()
	for i := range entries {
		v.Models.add(w, &entries[i])
	}
	return v
}

func (c *ModelCounts) add(w World, e *catalog.Entry) {
	if e.Model.External != nil {
		c.External++
		return
	}
	h := healthOf(w, &e.Model)
	ready, desired := h.Ready, h.Desired
	for _, s := range w.staticsOf(e.Model.Name) {
		desired++
		if s.Ready {
			ready++
		}
	}
	if h.Parked {
		c.Parked++
	}
	if h.Unplaceable {
		c.Unplaceable++
	}
	if h.Parked || ready < desired {
		c.Short++
		return
	}
	c.Ready++
}
