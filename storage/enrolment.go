package storage

import (
	"time"

	"llmgw.io/llmgw/inventory"
)

// TokenUse is one attempt to join with a token.
type TokenUse struct {
	ID   string
	Hash string
	Node inventory.NodeID
	At   time.Time
}
