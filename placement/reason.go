package placement

// Reason is a code of the closed list of reasons why a node was not used. An
// embedder's own filter adds "custom:<name>".
type Reason string

// The reasons, in the order in which the filters ask.
const (
	NotReady          Reason = "not_ready"
	Held              Reason = "held"
	Pool              Reason = "pool"
	Labels            Reason = "labels"
	Excluded          Reason = "excluded"
	EngineMissing     Reason = "engine_missing"
	BuildMissing      Reason = "build_missing"
	DeviceClass       Reason = "class"
	NoDevices         Reason = "no_devices"
	DevicesBusy       Reason = "devices_busy"
	DevicesUnhealthy  Reason = "devices_unhealthy"
	MIGGroup          Reason = "mig_group"
	DeviceMemory      Reason = "device_memory"
	ComputeCapability Reason = "compute_capability"
	HostMemory        Reason = "host_memory"
	Cores             Reason = "cores"
	Reserve           Reason = "reserve"
	Disk              Reason = "disk"
	Fabric            Reason = "fabric"
	NVLinkDomain      Reason = "nvlink_domain"
	IMEX              Reason = "imex"
	GroupShape        Reason = "group_shape"
	Spread            Reason = "spread"
	AntiAffinity      Reason = "anti_affinity"
	Isolated          Reason = "isolated"
	Brake             Reason = "brake"
	Outscored         Reason = "outscored"
)
