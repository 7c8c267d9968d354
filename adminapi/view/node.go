package view

import (
	"llmgw.io/llmgw/inventory"
)

// Node is one machine as people see it.
type Node struct {
	ID       string            `json:"id"`
	Hostname string            `json:"hostname,omitempty"`
	MgmtAddr string            `json:"mgmt_addr,omitempty"`
	State    string            `json:"state" doc:"lost, else unreachable, else draining, else cordoned, else ready"`
	Labels   map[string]string `json:"labels,omitempty" doc:"the agent's labels with the operators' over them"`
	GPUTotal int               `json:"gpu_total"`
	GPUFree  int               `json:"gpu_free" doc:"devices that are neither unhealthy nor in use"`
	MemoryGB *int64            `json:"memory_gb,omitempty" doc:"host memory in whole GiB; absent: the agent did not say"`
	CPUCount int               `json:"cpu_count,omitempty"`
	// Engines nil means that the agent did not say, which is not the same as
	// none.
	Engines       []string          `json:"engines,omitzero" doc:"engines that are ready; absent: the agent did not say, which is not the same as none"`
	Installed     []Installed       `json:"installed,omitzero" doc:"the ready engines with their builds and versions"`
	Prefetch      []NodePrefetch    `json:"prefetch,omitempty" doc:"weights that it is to have though no replica runs there"`
	Provision     []EngineInstall   `json:"provision,omitempty" doc:"engines that are wanted, under way or failed"`
	EngineBuilds  map[string]string `json:"engine_builds,omitempty" doc:"the build chosen for each engine; auto when nobody chose"`
	OS            string            `json:"os,omitempty"`
	Warnings      []string          `json:"warnings,omitempty" doc:"what makes the machine slow without making it unhealthy"`
	ModelsOnDisk  []string          `json:"models_on_disk,omitzero" doc:"paths of weights; absent: the agent was not asked to look"`
	DiskFreeGB    *int64            `json:"disk_free_gb,omitempty" doc:"whole GiB on local file systems; absent: unknown, never full"`
	DiskTotalGB   *int64            `json:"disk_total_gb,omitempty"`
	GPUClasses    []string          `json:"gpu_classes,omitempty" doc:"in order of first device"`
	GPUsByClass   []ClassGPUs       `json:"gpus_by_class,omitempty"`
	Fabrics       []string          `json:"fabrics,omitempty" doc:"declared fabrics its ports are on"`
	UnhealthyGPUs []string          `json:"unhealthy_gpus,omitempty" doc:"one line each: gpu LABEL: its first problem"`
	Location      *Location         `json:"location,omitempty"`
	Held          string            `json:"held,omitempty" doc:"why nothing new is placed there: rack r12-07 is held: PDU swap"`
	HeldDomain    string            `json:"held_domain,omitempty"`
	// OperatorLabels are those that people set over the API.
	OperatorLabels map[string]string `json:"operator_labels,omitempty"`
	LastSeenAgo    string            `json:"last_seen_ago" doc:"a Go duration in whole seconds; empty before the first report"`
	AgentVersion   string            `json:"agent_version,omitempty"`
	Upgrade        *Upgrade          `json:"upgrade,omitempty" doc:"the agent's last upgrade; absent: there was none that still counts"`
	Features       []string          `json:"features,omitzero" doc:"optional asks the agent understands; absent: too old to say"`
	Replicas       int               `json:"replicas" doc:"replicas with a shard here"`
	Load           *Load             `json:"load,omitempty" doc:"absent when older than a minute: unknown, not idle"`
	IBPorts        []IBPort          `json:"ib_ports,omitempty"`
	GPUs           []GPU             `json:"gpus,omitempty"`
	NVLinkDomain   string            `json:"nvlink_domain,omitempty" doc:"the one that all its cards are in"`
	IMEX           string            `json:"imex,omitempty" doc:"what its IMEX service says; READY lets engines share memory across nodes"`
	IMEXChannels   *int              `json:"imex_channels,omitempty" doc:"absent: the agent did not say; 0: no engine can share memory across nodes"`
	Driver         string            `json:"driver,omitempty" doc:"the GPU driver's version"`
	CUDA           string            `json:"cuda,omitempty" doc:"the newest CUDA that the driver serves"`
	Disks          []Disk            `json:"disks,omitempty" doc:"file systems that weights may stand on; the sums leave shared ones out"`
}

// Disk is one mounted file system.
type Disk struct {
	Mount   string `json:"mount"`
	Source  string `json:"source,omitempty"`
	Type    string `json:"type"`
	Shared  bool   `json:"shared,omitempty" doc:"other machines mount it too"`
	FreeGB  int64  `json:"free_gb" doc:"whole GiB"`
	TotalGB int64  `json:"total_gb"`
}

// Installed is one ready build of an engine.
type Installed struct {
	Name    string `json:"name"`
	Build   string `json:"build,omitempty"`
	Version string `json:"version,omitempty"`
}

// EngineInstall is an engine that is not ready yet.
type EngineInstall struct {
	Engine  string `json:"engine"`
	Build   string `json:"build" doc:"empty: none fits, and error says why"`
	Version string `json:"version,omitempty"`
	State   string `json:"state" doc:"wanted, fetching, installing, testing, ready or failed"`
	Percent *int   `json:"percent,omitempty"`
	Error   string `json:"error,omitempty"`
	Since   string `json:"since"`
}

// ClassGPUs counts the devices of one class. Each device is exactly one of
// free, unhealthy and in use.
type ClassGPUs struct {
	Class     string `json:"class"`
	Total     int    `json:"total"`
	Free      int    `json:"free"`
	Unhealthy int    `json:"unhealthy,omitempty"`
	MIG       bool   `json:"mig,omitempty"`
}

// Location is where a machine stands. Empty levels were not said.
type Location struct {
	Site string `json:"site,omitempty"`
	Room string `json:"room,omitempty"`
	Row  string `json:"row,omitempty"`
	Rack string `json:"rack,omitempty"`
	PDU  string `json:"pdu,omitempty"`
}

// GPU is a whole device or an instance of one.
type GPU struct {
	Index             int    `json:"index"`
	Name              string `json:"name"`
	Label             string `json:"label" doc:"3, or 0/mig2 for an instance"`
	Class             string `json:"class"`
	Card              int    `json:"card" doc:"the physical card; an instance's parent"`
	MIGProfile        string `json:"mig_profile,omitempty"`
	MemoryTotalMB     int64  `json:"memory_total_mb,omitempty"`
	MemoryUsedMB      *int64 `json:"memory_used_mb,omitempty" doc:"of the physical card; absent when not measured within a minute"`
	ComputeCapability string `json:"compute_capability,omitempty"`
	NUMA              int    `json:"numa" doc:"-1: unknown"`
	PCIRoot           string `json:"pci_root,omitempty" doc:"domain and bus of the root it is behind"`
	NVLinkPeers       []int  `json:"nvlink_peers,omitempty"`
	NearestNIC        string `json:"nearest_nic,omitempty"`
	NICPath           string `json:"nic_path,omitempty"`
	FabricState       string `json:"fabric_state,omitempty"`
	Domain            string `json:"domain,omitempty"`
	Bandwidth         string `json:"bandwidth,omitempty"`
}

// IBPort is one port of an adapter for fabrics.
type IBPort struct {
	HCA       string           `json:"hca"`
	Port      int              `json:"port"`
	State     string           `json:"state"`
	PhysState string           `json:"phys_state,omitempty"`
	RateGbps  int              `json:"rate_gbps"`
	LinkLayer string           `json:"link_layer,omitempty"`
	Active    bool             `json:"active"`
	Fabric    string           `json:"fabric,omitempty" doc:"the declared name"`
	Physical  string           `json:"physical,omitempty" doc:"the network's own identity: SM and its GUID, or RoCE and the network"`
	SMError   string           `json:"sm_error,omitempty" doc:"why the subnet manager could not be asked; no fault of the port"`
	Errors    map[string]int64 `json:"errors,omitempty" doc:"counters that are not zero; like bytes absent when not measured within a minute"`
	TxBytes   *int64           `json:"tx_bytes,omitempty"`
	RxBytes   *int64           `json:"rx_bytes,omitempty"`
}

// Load is what a machine measured within the last minute.
type Load struct {
	CPUPercent       float64     `json:"cpu_percent"`
	CPUs             int         `json:"cpus,omitempty"`
	Load1            float64     `json:"load1"`
	Load5            float64     `json:"load5"`
	Load15           float64     `json:"load15"`
	MemoryUsedBytes  int64       `json:"memory_used_bytes"`
	MemoryTotalBytes int64       `json:"memory_total_bytes"`
	MemoryPercent    float64     `json:"memory_percent"`
	AgeSeconds       int64       `json:"age_seconds"`
	CPUTempC         *float64    `json:"cpu_temp_c,omitempty"`
	CPUPowerW        *float64    `json:"cpu_power_w,omitempty"`
	InletTempC       *float64    `json:"inlet_temp_c,omitempty"`
	GPUSensors       []GPUSensor `json:"gpu_sensors,omitempty"`
}

// GPUSensor is what one physical card measures; its instances share it.
type GPUSensor = inventory.GPUSensor

// NodeStateRequest asks for a state of a node.
type NodeStateRequest struct {
	State  string `json:"state" doc:"ready or uncordon, cordoned or cordon, draining or drain"`
	Reason string `json:"reason,omitempty" doc:"kept in the audit log"`
}

// NodeEngineRequest chooses the build of an engine on a node.
type NodeEngineRequest struct {
	Engine string `json:"engine" doc:"vllm or llamacpp"`
	Build  string `json:"build" doc:"auto, none, or a build such as cu129"`
}

// LabelsRequest changes the operators' labels of a node.
type LabelsRequest struct {
	Labels map[string]*string `json:"labels" doc:"a text sets a label, null removes the operators' one"`
}

// NodeState is the state that is shown now.
type NodeState struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// NodeRemoved says which node was forgotten.
type NodeRemoved struct {
	ID      string `json:"id"`
	Removed string `json:"removed" doc:"the word true"`
}
