package view

import (
	"time"

	"llmgw.io/llmgw/inventory"
)

// NodeUpgradeRequest asks for a version of a node's agent.
type NodeUpgradeRequest struct {
	Version string `json:"version" doc:"a release's tag, such as v1.2.3 or v1.2.3-rc.1"`
}

// NodeUpgrade says that a version was taken.
type NodeUpgrade struct {
	Node    string   `json:"node"`
	Version string   `json:"version"`
	Last    *Upgrade `json:"last,omitempty" doc:"how the upgrade before this one went"`
}

// Upgrade is how an agent's upgrade goes or went.
type Upgrade struct {
	From  string `json:"from"`
	To    string `json:"to"`
	State string `json:"state" doc:"fetching, trial, done, or failed: then from runs again"`
	Error string `json:"error,omitempty"`
	Since string `json:"since"`
}

// UpgradeOf builds one; nil for none.
func UpgradeOf(u *inventory.Upgrade) *Upgrade {
	if u == nil {
		return nil
	}
	return &Upgrade{From: u.From, To: u.To, State: string(u.State), Error: u.Error, Since: u.Since.UTC().Format(time.RFC3339)}
}
