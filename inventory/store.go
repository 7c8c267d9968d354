package inventory

import "context"

// NodeSettings is what people set on a node and what must outlive the control
// plane: the node is known, wanted in some state, labelled.
type NodeSettings struct {
	Node NodeID `json:"node"`
	Wish Wish   `json:"wish,omitempty"`
	// Labels are the operators', over the agent's own.
	Labels map[string]string `json:"labels,omitzero"`
	// EngineBuilds are chosen builds by engine. Nil: nobody chose.
	EngineBuilds map[string]string `json:"engine_builds,omitzero"`
	// Revision guards changes; zero means that the row does not exist yet.
	Revision int64 `json:"revision"`
}

// HoldStore keeps the holds of places, one a domain.
//
// Methods may block and may be called at once from many goroutines; returned
// slices belong to the caller. Put and Delete write the row and its audit entry
// in one transaction.
type HoldStore interface {
	// ListHolds returns every hold, ordered by its domain's text.
	ListHolds(ctx context.Context) ([]Hold, error)
	// PutHold keeps a hold in place of the one its domain had.
	PutHold(ctx context.Context, h Hold, by Author) error
	// DeleteHold drops the hold of a domain; harmless, and not noted, when there
	// is none.
	DeleteHold(ctx context.Context, d Domain, by Author) error
}

// Store keeps what people set on nodes.
//
// Methods may block and may be called at once from many goroutines; returned
// slices belong to the caller. Put and Delete write the row and its audit
// entry in one transaction and are refused with an error that matches ErrStale
// when expected is not the row's revision. Repeating a Delete is harmless.
type Store interface {
	// ListNodeSettings returns every known node, ordered by id.
	ListNodeSettings(ctx context.Context) ([]NodeSettings, error)
	// PutNodeSettings writes one row at an expected revision (zero: it must
	// not exist) and returns it with its new revision.
	PutNodeSettings(ctx context.Context, s NodeSettings, expected int64, by Author) (NodeSettings, error)
	// DeleteNode forgets a node and revokes its certificates, in one
	// transaction.
	DeleteNode(ctx context.Context, id NodeID, by Author) error
}
