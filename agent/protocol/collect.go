package protocol

import (
	"time"

	"llmgw.io/llmgw/inventory"
)

// AskCollect asks an agent to remove weights that it fetched and that nothing
// needs any more ([CollectArgs]). Its answer is an inventory.Collected: the agent
// looks for itself whether each may go.
const AskCollect AskKind = "weights-collect"

// CollectTime is how long the answer may take.
const CollectTime = 2 * time.Minute

// MaxCollect bounds how many are removed for one ask.
const MaxCollect = 1000

// CollectArgs are the arguments of AskCollect.
type CollectArgs struct {
	// Paths are folders as the facts' weights are in them, relative to the agent's
	// folder of weights.
	Paths []string `json:"paths"`
}

// CollectResult is the answer to AskCollect.
type CollectResult = inventory.Collected
