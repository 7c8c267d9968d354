package inventory

import "slices"

// NodeID names a node: --name at joining, or the host's name.
type NodeID string

// Facts is one report of an agent about its machine, as a value. Facts change
// seldom; measurements (load, sensors, counters) are no facts and ride in
// [Sample].
//
// Absent is never zero: a zero memory, core count or disk size and a nil list
// mean that the agent did not say, and nothing is refused on it.
type Facts struct {
	Hostname     string `json:"hostname,omitempty"`
	MgmtAddr     string `json:"mgmt_addr,omitempty"`
	AgentVersion string `json:"agent_version,omitempty"`
	OS           string `json:"os,omitempty"`
	Kernel       string `json:"kernel,omitempty"`
	Arch         string `json:"arch,omitempty"`
	// BootID changes when the machine was started anew.
	BootID string `json:"boot_id,omitempty"`
	// Features are the optional asks this agent understands. Nil: too old to say.
	Features []string `json:"features,omitzero"`
	// Labels are the agent's own, from its file and environment.
	Labels map[string]string `json:"labels,omitzero"`
	// MemoryMB and CPUs are the host's whole memory in MiB and logical cores.
	MemoryMB int64 `json:"memory_mb,omitempty"`
	CPUs     int   `json:"cpus,omitempty"`
	// ReserveMB and ReserveCPUs are kept for the system and never given out.
	ReserveMB   int64 `json:"reserve_mb,omitempty"`
	ReserveCPUs int   `json:"reserve_cpus,omitempty"`
	// DiskFreeMB and DiskTotalMB are of the local file systems for weights.
	DiskFreeMB  int64 `json:"disk_free_mb,omitempty"`
	DiskTotalMB int64 `json:"disk_total_mb,omitempty"`

	Devices []Device `json:"devices,omitzero"`
	Ports   []Port   `json:"ports,omitzero"`
	// Engines are those installed and ready. Nil: the agent did not say, which
	// is not the same as none.
	Engines []Engine `json:"engines,omitzero"`
	// Weights are files found on disk. Nil: the agent was not asked to look.
	Weights []Weight `json:"weights,omitzero"`
	// Warnings are facts that make a machine slow without making it unhealthy.
	Warnings []string `json:"warnings,omitzero"`
	// EngineAccess is "loopback" or "direct": where engines may listen. Empty
	// means loopback.
	EngineAccess string `json:"engine_access,omitempty"`
	// IMEX is what the service says that lets devices of several nodes in one
	// NVLink domain reach each other ([IMEXReady]). Empty: the agent did not say.
	IMEX string `json:"imex,omitempty"`
}

// Engine is one installed build of an inference engine.
type Engine struct {
	// Name is the engine as profiles name it: llamacpp, vllm, sim.
	Name string `json:"name"`
	// Build tells builds of one engine apart ("cpu", "cu129"). May be empty.
	Build string `json:"build,omitempty"`
	// Version is the engine's own word for it.
	Version string `json:"version,omitempty"`
}

// Weight is a file or folder of weights on a node's disk.
type Weight struct {
	// Path is relative to the agent's folder of weights.
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
	Bytes  int64  `json:"bytes"`
}

// Port is one port of a network adapter for fabrics.
type Port struct {
	HCA       string `json:"hca"`
	Port      int    `json:"port"`
	State     string `json:"state"`
	RateGbps  int    `json:"rate_gbps,omitempty"`
	LinkLayer string `json:"link_layer,omitempty"`
	Active    bool   `json:"active"`
	// Fabric is the declared name of the network it is on. Empty: undeclared.
	Fabric string `json:"fabric,omitempty"`
	// Physical is the network's own identity. Empty: unknown.
	Physical string `json:"physical,omitempty"`
}

// HasEngine reports whether the node can run the engine and build; said is
// false when the agent did not say what it has, which refuses nothing.
func (f *Facts) HasEngine(name, build string) (has, said bool) {
	if f.Engines == nil {
		return false, false
	}
	return slices.ContainsFunc(f.Engines, func(e Engine) bool {
		return e.Name == name && (build == "" || e.Build == build)
	}), true
}
