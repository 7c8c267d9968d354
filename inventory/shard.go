package inventory

import "time"

// ShardState is where a shard is in its life, as its agent says.
type ShardState string

// The states of a shard: pending, fetching, starting, ready, draining, stopped
// in that order; failed from any; lost while its node is lost.
const (
	ShardPending  ShardState = "pending"
	ShardFetching ShardState = "fetching"
	ShardStarting ShardState = "starting"
	ShardReady    ShardState = "ready"
	ShardDraining ShardState = "draining"
	ShardStopped  ShardState = "stopped"
	ShardFailed   ShardState = "failed"
	ShardLost     ShardState = "lost"
)

// Fetch is the progress of bringing a shard's weights to the node.
type Fetch struct {
	Source    string `json:"source"`
	BytesDone int64  `json:"bytes_done"`
	// BytesTotal is zero while the size is unknown.
	BytesTotal int64 `json:"bytes_total,omitempty"`
	// BytesPerSecond is the recent rate. Zero: not measured yet.
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"`
}

// ShardStatus is what an agent says of one shard.
type ShardStatus struct {
	ID string `json:"id"`
	// Model and Profile are filled by the agent, so that a control plane that
	// knows nothing of the shard can still name it.
	Model   string     `json:"model,omitempty"`
	Profile string     `json:"profile,omitempty"`
	State   ShardState `json:"state"`
	// Error is why it failed, as a sentence; Cause its class (see the agent's
	// engines); LastLines the engine's last log lines, newest last.
	Error     string   `json:"error,omitempty"`
	Cause     string   `json:"cause,omitempty"`
	LastLines []string `json:"last_lines,omitempty"`
	// Address is where the router reaches the engine, "127.0.0.1:20001"; set
	// once the engine listens, on the leading shard only.
	Address string `json:"address,omitempty"`
	// Gate says that a gate of the node stands at Address, which is spoken to over
	// mutual TLS. False: it is the engine itself, over plain HTTP.
	Gate bool `json:"gate,omitempty"`
	// Fetch is nil unless weights are being fetched.
	Fetch *Fetch `json:"fetch,omitempty"`
	// Since is when the shard entered its state, by the agent's clock.
	Since time.Time `json:"since"`
	// Starts counts how often the agent started the engine for this shard.
	Starts int `json:"starts,omitempty"`
	// Adopted says that the engine outlived the agent that started it.
	Adopted bool `json:"adopted,omitempty"`
	// Adapters are those loaded in the engine, by name, once it serves. Nil: the
	// agent did not say, and those that were ordered are taken to be there.
	Adapters []string `json:"adapters,omitzero"`
	// Use is measured and may be old. Nil: not measured.
	Use *ShardUse `json:"use,omitempty"`
}

// ShardUse is what a shard's engine uses, sampled with the load.
type ShardUse struct {
	CPUCores    float64 `json:"cpu_cores"`
	MemoryBytes int64   `json:"memory_bytes"`
	// Running and Waiting are requests in the engine. -1: the engine did not say.
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	// KVUse is the share of the room for contexts that requests in the engine take,
	// from 0 to 1. Nil: the engine did not say.
	KVUse *float64 `json:"kv_use,omitempty"`
	// PrefixHits is the share of prompts' tokens that were found in the engine's
	// cache since it started, from 0 to 1. Nil: it did not say.
	PrefixHits *float64 `json:"prefix_hits,omitempty"`
}
