package protocol

import (
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Sync polls for the desired state. It is answered at once when the version or
// the epoch differ from what the agent has, or an ask waits for it; else after
// PollAfter.
type Sync struct {
	Node string `json:"node"`
	// Run and Rev are the beat's.
	Run string `json:"run,omitempty"`
	Rev uint64 `json:"rev,omitempty"`
	// Version and Epoch are of the desired state the agent has. Zero: none.
	Version uint64 `json:"version"`
	Epoch   int64  `json:"epoch"`
	// Facts is nil unless they changed, or were wanted.
	Facts *inventory.Facts `json:"facts,omitempty"`
	// FactsHash is of Facts, or of those last sent.
	FactsHash string `json:"facts_hash"`
	// Shards is the whole list, stopped ones too until they are no longer
	// desired.
	Shards []inventory.ShardStatus `json:"shards"`
}

// Desired is the whole desired state of one node.
type Desired struct {
	// Epoch is the leader's; an agent refuses an older one than it has seen.
	Epoch   int64          `json:"epoch"`
	Version uint64         `json:"version"`
	Shards  []DesiredShard `json:"desired"`
	// Engines are wanted builds by engine.
	Engines map[string]string `json:"engines,omitempty"`
	// Fetch are weights to have here though no shard needs them. An older agent does
	// not know them.
	Fetch []DesiredFetch `json:"fetch,omitempty"`
	// Keep are weights that must not be collected.
	Keep []string `json:"keep,omitempty"`
	Asks []Ask    `json:"asks,omitempty"`
}

// DesiredFetch is a model's weights, with its adapters, as a shard of it would need
// them.
type DesiredFetch struct {
	Model    catalog.Name   `json:"model"`
	Engine   catalog.Engine `json:"engine"`
	Source   string         `json:"source"`
	Files    []DesiredFile  `json:"files,omitempty"`
	Adapters []DesiredFile  `json:"adapters,omitempty"`
}

// DesiredShard is one shard as it should be.
type DesiredShard struct {
	Shard   string       `json:"shard"`
	Replica string       `json:"replica"`
	Model   catalog.Name `json:"model"`
	Profile string       `json:"profile"`
	// Want is what is wanted of it.
	Want ShardWant `json:"want"`
	Rank int       `json:"rank"`
	Of   int       `json:"of"`

	Devices []inventory.DeviceShare `json:"devices,omitempty"`
	// MemoryMB and Cores are reserved of the host. Zero: nothing was declared.
	MemoryMB int64 `json:"memory_mb,omitempty"`
	Cores    int   `json:"cores,omitempty"`

	Engine catalog.Engine    `json:"engine"`
	Build  string            `json:"build,omitempty"`
	Args   []string          `json:"args,omitempty"`
	Env    map[string]string `json:"env,omitempty"`
	// Context and Slots are the profile's. Zero: the engine's defaults.
	Context int `json:"context,omitempty"`
	Slots   int `json:"slots,omitempty"`
	// TensorParallel, PipelineParallel and DataParallel are never zero.
	TensorParallel   int `json:"tensor_parallel"`
	PipelineParallel int `json:"pipeline_parallel"`
	DataParallel     int `json:"data_parallel"`
	// Source is where the weights come from; Files what they must be. Empty
	// Files: whatever the source has, without a hash to hold it to.
	Source string        `json:"source,omitempty"`
	Files  []DesiredFile `json:"files,omitempty"`
	// EngineKey is what the engine must ask of its callers. It is a secret:
	// never argv, never a log.
	EngineKey string `json:"engine_key"`
	// Port forces the engine's port. Zero: the agent picks one and keeps it.
	Port int `json:"port,omitempty"`
	// LeaderAddr is rank 0's address, and LeaderPort the port there at which the
	// shards of a replica on several nodes find each other; the port after it is
	// theirs, too. Empty and zero: there is one shard, or rank 0's node has not said.
	LeaderAddr string `json:"leader_addr,omitempty"`
	LeaderPort int    `json:"leader_port,omitempty"`
	// HCAs are this node's ports, as "mlx5_0:1", of the fabric that all shards of
	// the replica are on. Empty: they share none that is known, and the engine's
	// own choice is left to it.
	HCAs     []string      `json:"hcas,omitempty"`
	Adapters []DesiredFile `json:"adapters,omitempty"`

	StartTimeout time.Duration `json:"start_timeout"`
	DrainTimeout time.Duration `json:"drain_timeout"`
}

// DesiredFile is one file to have on disk.
type DesiredFile struct {
	// Name is the adapter's name; empty for weights.
	Name   string `json:"name,omitempty"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	// From are URLs, tried in order.
	From []string `json:"from"`
}

// ShardWant is what is wanted of a shard.
type ShardWant string

// The wants there are. A shard that an agent runs and that is not in the list
// at all is stopped too.
const (
	WantRun ShardWant = "run"
	// WantDrain leaves it running; routers send it nothing new.
	WantDrain ShardWant = "drain"
	WantStop  ShardWant = "stop"
)
