package inventory

import (
	"slices"
	"time"
)

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
	// IMEXChannels counts the channel devices that processes need to share memory
	// across nodes. Nil: the agent did not say; zero: there are none, so no engine
	// can.
	IMEXChannels *int `json:"imex_channels,omitempty"`

	// Driver is the GPU driver's version ("580.95.05"), CUDA the newest CUDA that
	// it serves ("13.0"). Empty: there is none, or it did not say.
	Driver string `json:"driver,omitempty"`
	CUDA   string `json:"cuda,omitempty"`
	// CPUFlags are the instruction sets that engines ask for and the machine has
	// (avx2, avx512f, amx_int8). Nil: the agent did not say.
	CPUFlags []string `json:"cpu_flags,omitzero"`
	// Virtual is the hypervisor the machine runs under, by its own name or its
	// maker's; "unnamed" says neither. Empty: none, or unknown.
	Virtual string `json:"virtual,omitempty"`
	// Disks are the mounted file systems weights may stand on, local and shared.
	// Nil: the agent did not say.
	Disks []Disk `json:"disks,omitzero"`
	// Provision are builds of engines that are wanted here, under way or failed.
	// Nil: the agent is too old to say.
	Provision []EngineInstall `json:"provision,omitzero"`
	// Upgrade is how the agent's last upgrade goes or went. Nil: there was none that
	// still counts, or the agent did not say.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Prefetch is how far weights are that this node is to have though no shard needs
	// them here. Nil: none are wanted, or the agent is too old to fetch any.
	Prefetch []Prefetched `json:"prefetch,omitempty"`
}

// Disk is one mounted file system.
type Disk struct {
	Mount string `json:"mount"`
	// Source is the device, or "server:/export".
	Source string `json:"source,omitempty"`
	Type   string `json:"type"`
	// Shared says that other machines mount it too: its room is not this node's.
	Shared  bool  `json:"shared,omitempty"`
	FreeMB  int64 `json:"free_mb"`
	TotalMB int64 `json:"total_mb"`
}

// EngineInstall is one build of an engine on its way to a node.
type EngineInstall struct {
	Engine string `json:"engine"`
	// Build is the one that was chosen or resolved from auto. Empty: none fits,
	// and Error says why.
	Build string `json:"build,omitempty"`
	// Version is what is being installed. Empty: not known yet.
	Version string       `json:"version,omitempty"`
	State   InstallState `json:"state"`
	// Percent is of the fetch, 0 to 100. Nil: not fetching, or of unknown size.
	Percent *int `json:"percent,omitempty"`
	// Error is why it failed, as a sentence with the next step.
	Error string    `json:"error,omitempty"`
	Since time.Time `json:"since"`
}

// InstallState is how far an installation is.
type InstallState string

// The states of an installation, in order.
const (
	InstallWanted     InstallState = "wanted"
	InstallFetching   InstallState = "fetching"
	InstallInstalling InstallState = "installing"
	InstallTesting    InstallState = "testing"
	InstallReady      InstallState = "ready"
	InstallFailed     InstallState = "failed"
)

// Upgrade is an agent on its way from one version to another.
type Upgrade struct {
	From  string       `json:"from"`
	To    string       `json:"to"`
	State UpgradeState `json:"state"`
	// Error is why From runs again, as a sentence. Empty: it does not.
	Error string    `json:"error,omitempty"`
	Since time.Time `json:"since"`
}

// UpgradeState is how far an upgrade is.
type UpgradeState string

// The states of an upgrade. On trial the new version runs, and has not yet been
// answered by the control plane; when it failed, the old one runs again.
const (
	UpgradeFetching UpgradeState = "fetching"
	UpgradeTrial    UpgradeState = "trial"
	UpgradeDone     UpgradeState = "done"
	UpgradeFailed   UpgradeState = "failed"
)

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
	// LastUsed is when an engine last had it open, by what the agent has seen, to
	// the hour, so that it is no new fact all the time. Zero: never seen in use.
	LastUsed time.Time `json:"last_used,omitzero"`
	// Source is what an agent fetched it for, as the definition said it then,
	// without a query. Empty: somebody else put it there.
	Source string `json:"source,omitempty"`
	// Lacks is a file that is missing beside it for a whole model. Empty: none is.
	Lacks string `json:"lacks,omitempty"`
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
	// Physical is the network's own identity: "sm:" and the subnet manager's port
	// GUID, or "roce:" and the network. Empty: unknown.
	Physical string `json:"physical,omitempty"`

	// PhysState is the link's ("LinkUp", "Polling").
	PhysState string `json:"phys_state,omitempty"`
	// NodeGUID and PortGUID are 16 lower-case hex digits; they join a port with the
	// map of its fabric. Empty: it has none, or did not say.
	NodeGUID string `json:"node_guid,omitempty"`
	PortGUID string `json:"port_guid,omitempty"`
	// PCI is the adapter's address on the bus ("0000:18:00.0"), PCIRoot its root as
	// devices say it. Empty: a virtual adapter.
	PCI     string `json:"pci,omitempty"`
	PCIRoot string `json:"pci_root,omitempty"`
	// NUMA is the adapter's memory node; nil when unknown.
	NUMA *int `json:"numa,omitempty"`
	// LID and SMLID are the port's and its subnet manager's address. Zero: unset.
	LID   int `json:"lid,omitempty"`
	SMLID int `json:"sm_lid,omitempty"`
	// SM is the subnet manager that a query found. Nil: nobody asked or answered,
	// and SMError says why.
	SM      *SubnetManager `json:"sm,omitempty"`
	SMError string         `json:"sm_error,omitempty"`
	// SMs are all managers of the fabric, the standing-by ones too.
	SMs []SubnetManager `json:"sms,omitempty"`
	// Network is a RoCE port's ("10.1.2.0/24"). Interface is the network device by
	// which the port speaks IP, on InfiniBand one for IP over it; empty: none.
	Network   string `json:"network,omitempty"`
	Interface string `json:"interface,omitempty"`
	// MTU is the path's in bytes. Zero: unknown.
	MTU int `json:"mtu,omitempty"`
}

// SubnetManager is one that manages an InfiniBand fabric or stands by to.
type SubnetManager struct {
	// GUID is its port's, 16 lower-case hex digits. It is its identity: a LID may
	// be handed to another machine.
	GUID string `json:"guid"`
	LID  int    `json:"lid,omitempty"`
	// State is "master", "standby", "discover" or "notact".
	State    string `json:"state"`
	Priority int    `json:"priority,omitempty"`
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
