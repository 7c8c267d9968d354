package inventory

import "time"

// JoinToken is a one-time permission to join a node, as it is kept: only a hash
// of its secret.
type JoinToken struct {
	ID        string
	Hash      string
	CreatedBy string
	CreatedAt time.Time
	ExpiresAt time.Time
	// UsedBy is the node that joined with it; empty while unused.
	UsedBy NodeID
	UsedAt time.Time
}

// Certificate is one certificate that was issued to a node.
type Certificate struct {
	Serial    string
	Node      NodeID
	IssuedAt  time.Time
	ExpiresAt time.Time
}

// Revocation refuses every certificate of a node issued before At. A node that
// joins again under the same id works at once.
type Revocation struct {
	Node NodeID
	At   time.Time
}
