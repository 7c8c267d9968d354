package protocol

import (
	"time"

	"llmgw.io/llmgw/inventory"
)

// Launch is what a node has prepared for a shard before its engine is started.
type Launch struct {
	// Weights are the files on disk, absolute, the main one first.
	Weights []string
	// Adapters are adapter files on disk, absolute, by name, in order.
	Adapters []NamedFile
	// Host and Port are where the engine must listen.
	Host string
	Port int
	// Dir is the shard's private folder, 0700; the engine may write there.
	Dir string
	// Build is the installed build that was chosen, Program its program where it
	// was installed by the agent, absolute. Empty: the driver knows where it is.
	Build   inventory.Engine
	Program string
	// Devices are the shard's, in its order, as this machine found them. Nil: it
	// did not say; one that it does not know has an index alone.
	Devices []inventory.Device
	// WeightsBytes is what Weights have on disk together. Zero: not known.
	WeightsBytes int64
	// Addr is this node's address as other nodes reach it, and Interface the
	// network device that has it. Empty: not known. Both are for shards of one
	// replica on several nodes.
	Addr      string
	Interface string
}

// Program is one build of an engine that the agent installed.
type Program struct {
	Build inventory.Engine
	// Path is the engine's program, absolute.
	Path string
}

// NamedFile is a file on disk with the name clients use for it.
type NamedFile struct {
	Name string
	Path string
}

// Command is how an engine's process is started. It holds no secret in Args.
type Command struct {
	// Path is the program, absolute.
	Path string
	Args []string
	// Env is the whole environment, "KEY=value": nothing is inherited.
	Env []string
	// Files are written before the start, mode 0600, under the shard's folder:
	// by name, the content. Keys go here or into Env.
	Files map[string]string
	// Stop is how the process has to be stopped.
	Stop Stopping
}

// Stopping is how an engine's process has to be stopped. The zero value: each
// process of its group gets a TERM, and another one a moment later.
type Stopping struct {
	// LeaderOnly says that the TERM is for the first process alone, which ends the
	// others itself: they would cut the requests that it still answers.
	LeaderOnly bool `json:"leader_only,omitempty"`
	// Grace is how long the engine goes on with its requests after the first TERM.
	// It is neither told again nor killed before that has passed.
	Grace time.Duration `json:"grace,omitempty"`
}

// Use is what an engine says of its load, in one shape for all engines. What is
// measured is old when it is read.
type Use struct {
	// Running and Waiting are requests in the engine. -1: it does not say.
	Running, Waiting int
	// KVUse is the share of the room for contexts that requests in the engine
	// take, from 0 to 1; of several ranks, their mean. Nil: it does not say.
	KVUse *float64
	// PrefixHits is the share of the tokens of prompts that were found in its cache
	// since it started, from 0 to 1. Nil: it does not say, or had no prompt yet.
	PrefixHits *float64
}

// Endpoint is where a started engine is reached.
type Endpoint struct {
	// Address is "host:port".
	Address string
	// Key is what it asks of its callers.
	Key string
	// Model is the name it must serve under.
	Model string
}

// Exit is how an engine's process ended.
type Exit struct {
	// Code is the exit code; -1 when a signal ended it.
	Code int
	// Signal is its number. Zero: none.
	Signal int
	// OOMKilled says that the kernel killed it for memory.
	OOMKilled bool
	// Asked says that the agent stopped it.
	Asked bool
	// Started says that it was ready before it ended.
	Started bool
	// LastLines are the log's last lines, newest last.
	LastLines []string
}

// Failure is why an engine failed, for people.
type Failure struct {
	Cause Cause
	// Text is a sentence with the next step.
	Text string
}

// Cause is a closed list of why a shard fails.
type Cause string

// The causes.
const (
	CauseMemory   Cause = "memory"
	CauseCUDA     Cause = "cuda_version"
	CauseFlag     Cause = "bad_flag"
	CauseFile     Cause = "missing_file"
	CauseModel    Cause = "bad_model"
	CausePort     Cause = "port"
	CauseDriver   Cause = "driver"
	CauseFetch    Cause = "fetch"
	CauseHash     Cause = "wrong_hash"
	CauseDisk     Cause = "disk_full"
	CauseEngine   Cause = "engine_missing"
	CauseAccess   Cause = "engine_access"
	CauseGate     Cause = "gate"
	CauseTimeout  Cause = "start_timeout"
	CauseHung     Cause = "hung"
	CauseForeign  Cause = "foreign_process"
	CauseExited   Cause = "exited"
	CauseUnknown  Cause = "unknown"
	CauseRejected Cause = "rejected"
)
