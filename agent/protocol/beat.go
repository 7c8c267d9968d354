package protocol

import (
	"time"

	"llmgw.io/llmgw/inventory"
)

// Beat is sent up every five seconds, in a request of its own beside the poll.
type Beat struct {
	Node string `json:"node"`
	// Seq rises by one with every beat of one agent process.
	Seq uint64 `json:"seq"`
	// Run names one run of an agent; Rev rises with every list of shards it
	// makes, for a beat or a poll. What arrives with a lower one than was seen of
	// the run has been overtaken. Empty: the agent is too old to say.
	Run string `json:"run,omitempty"`
	Rev uint64 `json:"rev,omitempty"`
	// At is the agent's clock.
	At time.Time `json:"at"`
	// FactsHash is of the facts last sent; another one makes the control plane
	// want facts.
	FactsHash string `json:"facts_hash"`
	// AppliedVersion and EpochSeen are of the desired state the agent works to.
	AppliedVersion uint64 `json:"applied_version"`
	EpochSeen      int64  `json:"epoch_seen"`
	// Shards are those that changed since the last beat that was answered.
	Shards []inventory.ShardStatus `json:"shards,omitempty"`
	Sample *inventory.Sample       `json:"sample,omitempty"`
}

// BeatAnswer is sent down.
type BeatAnswer struct {
	SeenSeq uint64 `json:"seen_seq"`
	Want    Want   `json:"want,omitempty"`
	Leader  string `json:"leader,omitempty"`
}

// Want is what the control plane lacks of a node.
type Want string

// The wants there are.
const (
	WantNothing Want = ""
	// WantFacts asks for facts with the next poll, at once.
	WantFacts Want = "facts"
	// WantAll asks for facts and the whole list of shards, at once.
	WantAll Want = "all"
)
