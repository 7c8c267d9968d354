package reconciler

import (
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// World is everything Step looks at. It is read, never changed, neither by Step
// nor after it: what is the same in memory is taken to say the same.
type World struct {
	Now     time.Time
	Catalog *catalog.Index
	// Fleet has the nodes with what their agents say of their shards.
	Fleet *inventory.Snapshot
	// Replicas is what was ordered and not yet seen gone, ordered by id.
	Replicas []Replica
	Traffic  Traffic
	// Orders are those of people that were not carried out yet, oldest first.
	Orders []Order
}

// Traffic is what routers say of requests.
type Traffic struct {
	// Since is when the routers began to count. Zero: no router said anything,
	// and nothing counts as idle.
	Since    time.Time
	Models   map[catalog.Name]ModelTraffic
	Replicas map[ReplicaID]ReplicaTraffic
}

// ModelTraffic is demand for one model.
type ModelTraffic struct {
	// LastAsked is when a request last asked for it. Zero: never.
	LastAsked time.Time
	// Waiting are requests held until a replica is ready.
	Waiting int
	// InFlight are requests being answered, by any replica.
	InFlight int
}

// ReplicaTraffic is what one replica is used for.
type ReplicaTraffic struct {
	InFlight int
	// LastUsed is when a request last began or ended. Zero: no use reported.
	LastUsed time.Time
	// Slowness is how many times slower than usual for its model it was measured to
	// be: 1 is as usual. Zero: unknown.
	Slowness float64
}

// Order is something a person asked for.
type Order struct {
	// Retry un-parks a model and clears its failures.
	Retry catalog.Name
	// Restart asks for another copy of a replica.
	Restart ReplicaID
	Mode    RestartMode
	// ReleaseBrake lets what is lost be replaced.
	ReleaseBrake bool
}

// Memory is what Step remembers from one call to the next. It is a value: the
// argument is not changed, and the zero value is a fresh start.
type Memory struct {
	// Next is the number the next replica's id gets. It only rises; zero
	// counts as 1.
	Next   int64
	Models map[catalog.Name]ModelMemory
	// Orphans are shards that agents report and no replica explains, in order,
	// so that people are told of each once. It need not be kept.
	Orphans []ShardID
	// Brake is what is remembered of silent nodes.
	Brake BrakeMemory
	// Mix is what the fleet is kept fit for, and changes slowly. It need not be
	// kept.
	Mix placement.Mix
	// Sought are the models for which nobody could move, and when that was found.
	// It need not be kept.
	Sought map[catalog.Name]time.Time
	// Cache makes the next step quick. Nil: one is made. It is shared with the
	// memory that it came from, so one call of Step at a time. It is not kept.
	Cache *Cache
}

// Resume is a memory that was read back, with what an earlier one of the same
// process has beside it and nobody keeps.
func (m Memory) Resume(before Memory) Memory {
	m.Brake, m.Mix, m.Cache = before.Brake, before.Mix, before.Cache
	return m
}

// ModelMemory is what is remembered of one model.
type ModelMemory struct {
	// Failures are consecutive failed starts.
	Failures int `json:"failures,omitempty"`
	// RetryAt is when the next start may be tried. Zero: now.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Parked means that starts are no longer tried until a person retries or
	// the definition changes.
	Parked bool `json:"parked,omitempty"`
	// Reason is the last failure as a sentence; Cause its class; LastLines the
	// engine's last log lines.
	Reason    string   `json:"reason,omitempty"`
	Cause     string   `json:"cause,omitempty"`
	LastLines []string `json:"last_lines,omitempty"`
	// Revision is the definition's at the last failure; another one un-parks.
	Revision int64 `json:"revision,omitempty"`
	// FailedOn are nodes where recent starts failed, each until a time.
	FailedOn map[inventory.NodeID]time.Time `json:"failed_on,omitempty"`
	// Unplaceable says that people were told that there is no room.
	Unplaceable bool `json:"unplaceable,omitempty"`
	// Lost are the replicas of which people were told that they are lost, in
	// order.
	Lost []ReplicaID `json:"lost,omitempty"`
	// Preempted is how many of its replicas gave way to a higher class and are
	// lacking still; HeldFor is the model that the last one gave way to.
	Preempted int          `json:"preempted,omitempty"`
	HeldFor   catalog.Name `json:"held_for,omitempty"`
	// Halted says why the last rollout ended before its time, and HaltedAt is the
	// revision that it rolled out. Empty: it did not.
	Halted   string `json:"halted,omitempty"`
	HaltedAt int64  `json:"halted_at,omitempty"`
	// Moved is when replicas of it were moved to make room, in the last hour.
	Moved []time.Time `json:"moved,omitempty"`
	// Former is what a replica was that a rollout stopped in place, until its
	// successor is ready, or for good where that failed. Nil: none was.
	Former *Former `json:"former,omitempty"`
	// Pace is how quick the model was measured to be on nodes, in steps of PaceStep
	// that its replicas there are slower than usual; negative: quicker. A node that
	// is not named is as usual, or unknown.
	Pace map[inventory.NodeID]int `json:"pace,omitempty"`
}
