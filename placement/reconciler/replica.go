package reconciler

import (
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// ReplicaID names a replica: the model's name made safe, a dash and a number
// that is never used twice in a cluster.
type ReplicaID string

// ShardID names a shard: its replica's id, a dot and its rank.
type ShardID string

// Phase is what is wanted of a replica.
type Phase string

// The phases, in the only order in which a replica passes through them.
const (
	// Run wants it running.
	Run Phase = "run"
	// Drain takes it out of routing and waits for its requests.
	Drain Phase = "drain"
	// Stop stops its engine; the replica is forgotten once that is seen.
	Stop Phase = "stop"
)

// Replica is one running copy of a model as it was ordered. It keeps the
// profile it was placed with, so an edit of the definition changes nothing that
// runs.
type Replica struct {
	ID      ReplicaID
	Model   catalog.Name
	Source  string
	Files   []catalog.File
	Profile catalog.Profile
	// Adapters are those the engine is started with.
	Adapters    []catalog.Adapter
	Fingerprint string
	CreatedAt   time.Time
	Phase       Phase
	// PhaseSince is when Phase was entered.
	PhaseSince time.Time
	// DrainBy is when waiting ends: in Drain for its requests, and in Run for
	// its replacement, while a node of it drains. Zero otherwise.
	DrainBy time.Time
	// Why says in a few words why it drains or stops. Empty while it runs.
	Why string
	// Replaces is the replica this one takes over from. Empty: none.
	Replaces ReplicaID
	// Restart says that people asked for a replacement.
	Restart RestartMode
	// ReadyAt is when it was first seen ready. Zero: not yet.
	ReadyAt time.Time
	Shards  []Shard
}

// RestartMode is how a replica is to be restarted.
type RestartMode string

// The ways to restart.
const (
	NoRestart RestartMode = ""
	// Replace starts another replica first.
	Replace RestartMode = "replace"
	// InPlace stops it first, and starts another on the room that is free then.
	InPlace RestartMode = "in_place"
	// Rollout starts another replica first where there is room, else stops it
	// first, and ends at the first failure.
	Rollout RestartMode = "rollout"
	// RolloutBorrow is Rollout that may take the room of lower classes for one
	// replacement at a time, before it goes in place.
	RolloutBorrow RestartMode = "rollout_borrow"
	// Moving starts another replica elsewhere first, to make room for another model.
	// Step orders it; people cannot.
	Moving RestartMode = "move"
)

// rolls reports whether it is one of the two rollouts.
func (m RestartMode) rolls() bool { return m == Rollout || m == RolloutBorrow }

// Shard is one process of a replica on one node.
type Shard struct {
	ID   ShardID
	Rank int
	// Spot is what it occupies.
	Spot inventory.Allocation
}

// ReplicaState is the one word shown for a replica.
type ReplicaState string

// The states of a replica: the first that any shard is in, of failed, lost,
// draining, stopped, pending, fetching, starting, ready.
const (
	StatePending  ReplicaState = "pending"
	StateFetching ReplicaState = "fetching"
	StateStarting ReplicaState = "starting"
	StateReady    ReplicaState = "ready"
	StateDraining ReplicaState = "draining"
	StateStopped  ReplicaState = "stopped"
	StateFailed   ReplicaState = "failed"
	StateLost     ReplicaState = "lost"
)
