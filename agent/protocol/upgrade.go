package protocol

import (
	"time"

	"llmgw.io/llmgw/inventory"
)

// UpgradeTime bounds an upgrade until it is taken: fetching, proving and putting
// in place.
const UpgradeTime = 5 * time.Minute

// UpgradeArgs are the arguments of AskUpgrade.
type UpgradeArgs struct {
	// Version is a release's tag: v1.2.3.
	Version string `json:"version"`
}

// UpgradeResult is the answer to AskUpgrade.
type UpgradeResult struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Last is how the upgrade before this one went. Nil: there was none.
	Last *inventory.Upgrade `json:"last,omitempty"`
}
