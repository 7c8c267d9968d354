package catalog

import "llmgw.io/llmgw/inventory"

// Engine names an inference engine.
type Engine string

// The engines a profile may name.
const (
	EngineLlamaCPP Engine = "llamacpp"
	EngineVLLM     Engine = "vllm"
	EngineSGLang   Engine = "sglang"
	// EngineSim is the simulated engine, for tests and demonstrations.
	EngineSim Engine = "sim"
	// EngineStatic stands for replicas that others run: probed and routed to,
	// never started or stopped.
	EngineStatic Engine = "static"
)

// Profile is one way to run a model.
type Profile struct {
	Name   string `json:"name"`
	Engine Engine `json:"engine"`
	// Build is a build of the engine ("cpu", "cu129"). Empty: any.
	Build string            `json:"build,omitempty"`
	Args  []string          `json:"args,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
	// GPU absent means that the profile runs on CPUs only.
	GPU *GPU `json:"gpu,omitempty"`
	// Shards are processes on different nodes. Zero means 1.
	Shards int `json:"shards,omitempty"`
	// TensorParallel defaults to GPU.Count; the two others to 1.
	TensorParallel   int `json:"tensor_parallel,omitempty"`
	PipelineParallel int `json:"pipeline_parallel,omitempty"`
	DataParallel     int `json:"data_parallel,omitempty"`
	// Fabric the shards must share: a declared name, or "any" one physical
	// fabric. Empty: none is asked.
	Fabric string `json:"fabric,omitempty"`
	// NVLinkDomain asks for one multi-node NVLink domain.
	NVLinkDomain bool `json:"nvlink_domain,omitempty"`
	// MemoryGB (GiB), CPUCores and DiskGB are what one shard reserves of its
	// host; disk beyond the weights. Zero: nothing is reserved.
	MemoryGB int `json:"min_memory_gb,omitempty"`
	CPUCores int `json:"cpu_cores,omitempty"`
	DiskGB   int `json:"disk_gb,omitempty"`
	// Context is in tokens per slot. Zero: the engine's default.
	Context int `json:"context,omitempty"`
	// Slots is how many requests run at once. Zero: the engine's default. Of a
	// static profile, how many are sent to each endpoint at once; zero: any number.
	Slots int `json:"slots,omitempty"`
	// StartTimeout zero means 10 minutes beyond the expected load time;
	// DrainTimeout zero means 5 minutes.
	StartTimeout Duration `json:"start_timeout,omitempty"`
	DrainTimeout Duration `json:"drain_timeout,omitempty"`
	// Pool and Labels narrow the nodes. Empty: any node that is in no pool.
	Pool   string            `json:"pool,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Spread *Spread           `json:"spread,omitempty"`
	// Endpoints belong to engine static only.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// GPU is what one shard asks of devices.
type GPU struct {
	// Class is a device class. Empty: any.
	Class inventory.Class `json:"class,omitempty"`
	Count int             `json:"count"`
	// MemoryGB is the least device memory in GiB; with Shared it is what is
	// reserved of a device that others may share.
	MemoryGB int `json:"memory_gb,omitempty"`
	// Shared lets replicas share a device; count must be 1 then.
	Shared bool `json:"shared,omitempty"`
	// ComputeCapability is the least accepted, "8.0". Empty: any.
	ComputeCapability string `json:"compute_capability,omitempty"`
}

// Spread bounds how many replicas of the model stand in one domain.
type Spread struct {
	Level inventory.Level `json:"level"`
	// MaxPerDomain zero means as even as there is room for.
	MaxPerDomain int `json:"max_per_domain,omitempty"`
}

// Endpoint is one replica that others run.
type Endpoint struct {
	URL string `json:"url"`
	// Key is sent as a bearer token. It is write-only: views leave it out. Nil:
	// none, or on a change the one that is kept; empty removes it.
	Key *string `json:"key,omitempty"`
}

// ShardCount is Shards with its default.
func (p *Profile) ShardCount() int { return max(1, p.Shards) }

// Managed reports whether llmgw starts and stops replicas of this profile.
func (p *Profile) Managed() bool { return p.Engine != EngineStatic }
