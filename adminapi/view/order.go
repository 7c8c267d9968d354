package view

import "llmgw.io/llmgw/catalog"

// Duration travels as integer nanoseconds and is also read from Go's form
// ("10m").
type Duration = catalog.Duration

// Added says which model was added.
type Added struct {
	Added string `json:"added"`
}

// Removed says which model was removed.
type Removed struct {
	Removed string `json:"removed"`
}

// ScaleRequest asks for a number of replicas.
type ScaleRequest struct {
	Min         int       `json:"min"`
	Max         *int      `json:"max,omitempty" doc:"absent: follows min"`
	IdleTimeout *Duration `json:"idle_timeout,omitempty" doc:"absent: as it is"`
}

// ScaleResponse is what is in force now, not what was asked.
type ScaleResponse struct {
	Model       string   `json:"model"`
	Min         int      `json:"min"`
	Max         int      `json:"max"`
	IdleTimeout Duration `json:"idle_timeout,omitempty"`
	OnDemand    bool     `json:"on_demand" doc:"runs only while it is asked for"`
}

// ScaleOf builds what is in force.
func ScaleOf(e *catalog.Entry) ScaleResponse {
	v := ScaleResponse{Model: string(e.Model.Name), OnDemand: e.Model.OnDemand()}
	v.Min, v.Max = e.Model.Bounds()
	if s := e.Model.WithDefaults().Scaling; s != nil {
		v.IdleTimeout = s.IdleTimeout
	}
	return v
}

// ResourcesRequest asks for reservations. Running replicas keep what they
// started with.
type ResourcesRequest struct {
	Profile  string `json:"profile,omitempty" doc:"absent: every profile"`
	MemoryGB int    `json:"memory_gb" doc:"GiB a shard reserves of its host; 0 reserves nothing"`
	CPUCores int    `json:"cpu_cores" doc:"cores a shard reserves of its host; 0 reserves nothing"`
}

// ClassRequest asks for a capacity class.
type ClassRequest struct {
	Class string `json:"class" doc:"critical, standard or batch"`
}

// ClassResponse is the class in force.
type ClassResponse struct {
	Model string `json:"model"`
	Class string `json:"class"`
}

// RetryResponse says whether a retry had something to lift.
type RetryResponse struct {
	WasParked bool `json:"was_parked"`
}

// RestartRequest asks for other copies of replicas: a replacement first, unless
// in place. Models and All select ready replicas, Replicas any. A rollout selects
// only those that run another definition than the one in force, starts the
// replacement first where there is room, and ends at the first failure; with Borrow lower
// classes may give way to one replacement at a time.
type RestartRequest struct {
	Replicas []string `json:"replicas,omitempty"`
	Models   []string `json:"models,omitempty"`
	All      bool     `json:"all,omitempty"`
	InPlace  bool     `json:"in_place,omitempty"`
	Rollout  bool     `json:"rollout,omitempty" doc:"only what is not as its definition says: replacement first where there is room, else in place, until the first failure"`
	Borrow   bool     `json:"borrow,omitempty" doc:"only with rollout: replicas of lower classes may give way to one replacement at a time before it goes in place"`
}

// RestartResult is what was queued, each replica once.
type RestartResult struct {
	Queued []string `json:"queued"`
}

// Error is what every refused request is answered with.
type Error struct {
	Error string `json:"error" doc:"what is wrong and, where there is one, the mend"`
	Code  string `json:"code" doc:"invalid, unknown_field, too_large, unauthenticated, forbidden, not_found, exists, read_only, conflict, stale, not_wired, unsupported, agent_failed, timeout, rate_limited or internal"`
}
