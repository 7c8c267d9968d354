package placement

import "strings"

// Reason is a code of the closed list of reasons why a node was not used. An
// embedder's own filter adds "custom:<name>".
type Reason string

// The reasons, in the order in which they are listed to people.
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
	MIGGroup          Reason = "mig_group"
	ComputeCapability Reason = "compute_capability"
	DeviceMemory      Reason = "device_memory"
	DevicesUnhealthy  Reason = "devices_unhealthy"
	DevicesBusy       Reason = "devices_busy"
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

// customPrefix is before the names of an embedder's own filters.
const customPrefix = "custom:"

// reasons is what people are told of each reason, in the order of the list.
var reasons = []struct {
	reason       Reason
	text, advice string
}{
	{NotReady, "the node takes nothing new", "uncordon it, bring its agent back, or set its clock"},
	{Held, "its place in the building is held", "release the hold, or wait until it ends"},
	{Pool, "it is in another pool", "name the node's pool in the profile, or label nodes llmgw.io/pool"},
	{Labels, "its labels are others", "label the node, or ask for less in the profile"},
	{Excluded, "it was left out of this attempt", "see why it is left out; it is tried again later"},
	{EngineMissing, "the engine is not installed", "install the engine on the node"},
	{BuildMissing, "another build of the engine is installed", "choose that build on the node, or leave the build open in the profile"},
	{DeviceClass, "it has devices of other classes", "add a profile for the classes there are"},
	{NoDevices, "it has too few such devices", "ask for fewer devices, or add a profile that spans nodes"},
	{MIGGroup, "its MIG instances take one replica each", "ask for one instance, or for whole cards"},
	{ComputeCapability, "its devices are too old", "add a profile that older devices can run"},
	{DeviceMemory, "its devices have too little memory left", "ask for less memory, or stop what else uses the devices"},
	{DevicesUnhealthy, "too few of its devices are healthy", "see the devices' problems on the node"},
	{DevicesBusy, "too few of its devices are free", "stop a replica there, or add nodes"},
	{HostMemory, "too little of its memory is free", "reserve less in the profile, or stop what else runs there"},
	{Cores, "too few of its cores are free", "reserve fewer cores in the profile, or stop what else runs there"},
	{Reserve, "the rest is kept for its system", "reserve less in the profile, or lower the reserve in the agent's file"},
	{Disk, "its disk is too full for the weights", "remove weights that nobody uses, or add disk"},
	{Fabric, "it is not on the fabric", "declare the node's fabric, or ask for another"},
	{NVLinkDomain, "it is in no NVLink domain with room", "leave the domain open in the profile, or free the domain"},
	{IMEX, "its IMEX service is not ready", "start IMEX on every node of the domain"},
	{GroupShape, "no group of the shape can be formed", "use a profile that fits one node"},
	{Spread, "enough replicas stand in its domain", "raise max_per_domain, or add nodes elsewhere"},
	{AntiAffinity, "something runs there that it must not share a node with", "free the node of it"},
	{Isolated, "the node cannot reach what it needs", "mend its network"},
	{Brake, "many nodes went silent at once, and nothing is moved until that is understood", "release the brake once the silence is explained"},
	{Outscored, "another node was better", "nothing has to be done"},
}

// Reasons lists every built-in reason in order, as a slice of the caller's own.
func Reasons() []Reason {
	out := make([]Reason, len(reasons))
	for i, r := range reasons {
		out[i] = r.reason
	}
	return out
}

// Valid reports whether r is of the list, or an embedder's own.
func (r Reason) Valid() bool {
	_, _, ok := r.lookup()
	return ok
}

// Text says what the reason means, as half a sentence about a node.
func (r Reason) Text() string {
	text, _, _ := r.lookup()
	return text
}

// Advice says what people can do about it.
func (r Reason) Advice() string {
	_, advice, _ := r.lookup()
	return advice
}

func (r Reason) lookup() (text, advice string, ok bool) {
	for _, x := range reasons {
		if x.reason == r {
			return x.text, x.advice, true
		}
	}
	if name, custom := strings.CutPrefix(string(r), customPrefix); custom && name != "" {
		return "the filter " + name + " refused it", "see what " + name + " asks for", true
	}
	return "", "", false
}
