package storage

import (
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Assignment is one replica as it was ordered: what runs or should run, where.
// It is written before its order leaves the control plane, so that one which
// comes back finds everything it started.
type Assignment struct {
	Replica     string                 `json:"replica"`
	Model       catalog.Name           `json:"model"`
	Source      string                 `json:"source,omitempty"`
	Files       []catalog.File         `json:"files,omitempty"`
	Profile     catalog.Profile        `json:"profile"`
	Adapters    []catalog.Adapter      `json:"adapters,omitempty"`
	Fingerprint string                 `json:"fingerprint"`
	CreatedAt   time.Time              `json:"created_at"`
	Phase       string                 `json:"phase"`
	PhaseSince  time.Time              `json:"phase_since"`
	DrainBy     time.Time              `json:"drain_by,omitzero"`
	Why         string                 `json:"why,omitempty"`
	Replaces    string                 `json:"replaces,omitempty"`
	Restart     string                 `json:"restart,omitempty"`
	ReadyAt     time.Time              `json:"ready_at,omitzero"`
	Shards      []inventory.Allocation `json:"shards"` // in order of rank
}

// ModelMemory is what the reconciler remembers of one model, as it is kept.
type ModelMemory struct {
	Model catalog.Name
	// Data is the reconciler's own encoding.
	Data []byte
}

// Assignments is everything the leader needs to go on.
type Assignments struct {
	Replicas []Assignment // ordered by replica
	Memory   []ModelMemory
	// Next is the number the next replica gets.
	Next int64
}

// AssignmentChange is one step's writes, made whole or not at all.
type AssignmentChange struct {
	Put    []Assignment
	Delete []string
	// PutMemory replaces rows; DeleteMemory removes them.
	PutMemory    []ModelMemory
	DeleteMemory []catalog.Name
	// Next is never lowered. Zero leaves it alone.
	Next int64
}
