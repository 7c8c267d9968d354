package reconciler

import "time"

// Kind is what an Action orders. The list is closed.
type Kind string

// The kinds of action. Each is safe to repeat.
const (
	// Place creates a replica; Replica is whole.
	Place Kind = "place"
	// Update writes a replica that stays: its Phase, DrainBy, ReadyAt, Restart.
	Update Kind = "update"
	// Forget drops a replica whose shards are gone and releases its room.
	Forget Kind = "forget"
)

// Action is one change of what is ordered.
type Action struct {
	Kind    Kind
	Replica Replica
	// Why is a sentence for the log and the journal.
	Why string
	// Versions are the versions of the nodes a Place rests on, by shard order.
	Versions []uint64
}

// Event is something worth telling people, made by Step.
type Event struct {
	At      time.Time
	Kind    EventKind
	Model   string
	Replica ReplicaID
	Node    string
	Text    string
}

// EventKind is a closed list of what can be told.
type EventKind string

// The kinds of event.
const (
	EventPlaced      EventKind = "placed"
	EventReady       EventKind = "ready"
	EventFailed      EventKind = "failed"
	EventParked      EventKind = "parked"
	EventUnplaceable EventKind = "unplaceable"
	EventStopped     EventKind = "stopped"
	EventLost        EventKind = "lost"
	// EventPreempted tells of a replica that gives way to a higher class.
	EventPreempted EventKind = "preempted"
	// EventMoved tells of a replica that goes elsewhere, to make room.
	EventMoved EventKind = "moved"
	// EventHalted tells of a rollout that ended at its first failure.
	EventHalted EventKind = "halted"
	// EventOrphan tells of a shard that no replica explains; its agent stops it.
	EventOrphan EventKind = "orphan"
	// EventBrakeSet tells that many nodes went silent at once, so that nothing
	// lost is replaced, and EventBrakeReleased that it is again.
	EventBrakeSet      EventKind = "brake_set"
	EventBrakeReleased EventKind = "brake_released"
)
