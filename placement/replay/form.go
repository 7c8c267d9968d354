package replay

import (
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

// version is that of the form below. A reader ignores members that a later
// version adds, and refuses a later version.
const version = 1

// form is an entry as JSON. Absent parts are as they were in the entry before; in
// a base they are empty.
type form struct {
	V int `json:"v"`
	// N is the entry's place behind its base, which is 0.
	N        int                `json:"n"`
	Epoch    int64              `json:"epoch"`
	Missed   int                `json:"missed,omitempty"`
	Now      time.Time          `json:"now"`
	Catalog  *catalogForm       `json:"catalog,omitempty"`
	Fleet    fleetForm          `json:"fleet"`
	Replicas *replicasForm      `json:"replicas,omitempty"`
	Traffic  trafficForm        `json:"traffic,omitzero"`
	Orders   []reconciler.Order `json:"orders,omitempty"`
	Memory   *memoryForm        `json:"memory,omitempty"`
	Decided  decidedForm        `json:"decided"`
	Outcome  Outcome            `json:"outcome"`
	// Moves is the reconciler's setting.
	Moves float64 `json:"moves,omitempty"`
}

type catalogForm struct {
	Version uint64          `json:"version"`
	Put     []catalog.Entry `json:"put,omitempty"`
	Gone    []catalog.Name  `json:"gone,omitempty"`
}

// fleetForm has every node that changed. Its version is always there.
type fleetForm struct {
	Version uint64             `json:"version"`
	Nodes   []nodeForm         `json:"nodes,omitempty"`
	Gone    []inventory.NodeID `json:"gone,omitempty"`
	Holds   *holdsForm         `json:"holds,omitempty"`
}

type holdsForm struct {
	All     []inventory.Hold `json:"all"`
	InForce []inventory.Hold `json:"in_force"`
}

// nodeForm is a node that changed: what is small always, what is large where it is
// another.
type nodeForm struct {
	ID          inventory.NodeID         `json:"id"`
	Version     uint64                   `json:"version"`
	Hearing     inventory.Hearing        `json:"hearing"`
	Skew        time.Duration            `json:"skew,omitempty"`
	Held        inventory.Held           `json:"held,omitzero"`
	ShardsKnown bool                     `json:"shards_known,omitempty"`
	Facts       *inventory.Facts         `json:"facts,omitempty"`
	Settings    *inventory.NodeSettings  `json:"settings,omitempty"`
	Allocations *[]inventory.Allocation  `json:"allocations,omitempty"`
	Shards      *[]inventory.ShardStatus `json:"shards,omitempty"`
}

type replicasForm struct {
	Put  []replicaForm          `json:"put,omitempty"`
	Gone []reconciler.ReplicaID `json:"gone,omitempty"`
}

// replicaForm is a replica, field by field.
type replicaForm struct {
	ID          reconciler.ReplicaID   `json:"id"`
	Model       catalog.Name           `json:"model"`
	Source      string                 `json:"source,omitempty"`
	Files       []catalog.File         `json:"files,omitempty"`
	Profile     catalog.Profile        `json:"profile"`
	Adapters    []catalog.Adapter      `json:"adapters,omitempty"`
	Fingerprint string                 `json:"fingerprint,omitempty"`
	CreatedAt   time.Time              `json:"created_at"`
	Phase       reconciler.Phase       `json:"phase"`
	PhaseSince  time.Time              `json:"phase_since"`
	DrainBy     time.Time              `json:"drain_by,omitzero"`
	Why         string                 `json:"why,omitempty"`
	Replaces    reconciler.ReplicaID   `json:"replaces,omitempty"`
	Restart     reconciler.RestartMode `json:"restart,omitempty"`
	ReadyAt     time.Time              `json:"ready_at,omitzero"`
	Shards      []reconciler.Shard     `json:"shards"`
}

// trafficForm is what changed of what rules look at.
type trafficForm struct {
	// Since is nil where it is as before.
	Since    *time.Time                                             `json:"since,omitempty"`
	Models   delta[catalog.Name, reconciler.ModelTraffic]           `json:"models,omitzero"`
	Replicas delta[reconciler.ReplicaID, reconciler.ReplicaTraffic] `json:"replicas,omitzero"`
	// Running are shards whose engines answer requests, with their nodes.
	Running delta[string, inventory.NodeID] `json:"running,omitzero"`
}

type memoryForm struct {
	Next    int64                                       `json:"next"`
	Models  delta[catalog.Name, reconciler.ModelMemory] `json:"models,omitzero"`
	Orphans *[]reconciler.ShardID                       `json:"orphans,omitempty"`
	Brake   *reconciler.BrakeMemory                     `json:"brake,omitempty"`
	Mix     *mixForm                                    `json:"mix,omitempty"`
	Sought  delta[catalog.Name, time.Time]              `json:"sought,omitzero"`
}

// mixForm is the mix that placements are judged by.
type mixForm struct {
	Version uint64     `json:"version"`
	Parts   []partForm `json:"parts,omitempty"`
}

// partForm is a model of the mix: by name as the catalog has it, or as it was when
// the mix was made.
type partForm struct {
	Model  catalog.Name   `json:"model"`
	Weight float64        `json:"weight"`
	Was    *catalog.Model `json:"was,omitempty"`
}

// decidedForm is what was decided. Health and the memory after it are there as
// sums only: deciding again makes them.
type decidedForm struct {
	Actions    []actionForm                 `json:"actions,omitempty"`
	Events     []reconciler.Event           `json:"events,omitempty"`
	Traces     map[catalog.Name][]traceForm `json:"traces,omitempty"`
	Brake      reconciler.Brake             `json:"brake,omitzero"`
	OrdersDone int                          `json:"orders_done,omitempty"`
	WakeAt     time.Time                    `json:"wake_at,omitzero"`
	Health     string                       `json:"health"`
	Memory     string                       `json:"memory"`
}

// actionForm is an action. Replica is nil where it is forgotten.
type actionForm struct {
	Kind    reconciler.Kind      `json:"kind"`
	ID      reconciler.ReplicaID `json:"id"`
	Model   catalog.Name         `json:"model"`
	Why     string               `json:"why"`
	Replica *replicaForm         `json:"replica,omitempty"`
}

// traceForm is a trace without its lines.
type traceForm struct {
	Profile string                   `json:"profile"`
	Looked  int                      `json:"looked"`
	Chosen  int                      `json:"chosen,omitempty"`
	Counts  map[placement.Reason]int `json:"counts,omitempty"`
	Best    []bestForm               `json:"best,omitempty"`
}

type bestForm struct {
	Node  inventory.NodeID `json:"node"`
	Total float64          `json:"total"`
}
