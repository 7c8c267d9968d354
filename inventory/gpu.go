package inventory

// Class is a class of device, as profiles ask for it: product word, a dash and
// the data sheet's GB for a whole card ("H100-80"), the profile for a MIG
// instance ("3g.40gb").
type Class string

// Device is a whole GPU or a MIG instance, as the agent found it.
type Device struct {
	// Index is the device's number on its node; allocations name it. A whole card
	// has its Card, an instance (Card + 1) * 100 and its number on the card.
	Index int `json:"index"`
	// UUID is the driver's name for it. Empty when the driver did not say.
	UUID string `json:"uuid,omitempty"`
	// Name is the product's name as the driver gives it.
	Name string `json:"name,omitempty"`
	// Label is what people see: "3", or "0/mig2" for an instance.
	Label string `json:"label"`
	// Class is what profiles ask for.
	Class Class `json:"class"`
	// Card is the physical card; for a MIG instance, its parent's.
	Card int `json:"card"`
	// MIGProfile is set on MIG instances only.
	MIGProfile string `json:"mig_profile,omitempty"`
	// MemoryMB is the device's memory in MiB. Zero: the agent did not say.
	MemoryMB int64 `json:"memory_mb,omitempty"`
	// ForeignMB is memory in MiB used by processes that llmgw did not start.
	ForeignMB int64 `json:"foreign_mb,omitempty"`
	// ComputeCapability reads like "9.0". Empty: the agent did not say.
	ComputeCapability string `json:"compute_capability,omitempty"`
	// NUMA is the memory node it is attached to; -1 when unknown.
	NUMA int `json:"numa"`
	// PCIRoot is the root of the bus it is on, as domain and bus: "0000:17".
	// Devices with the same one reach each other without crossing between roots.
	// Empty: the agent did not say.
	PCIRoot string `json:"pci_root,omitempty"`
	// PCI is the card's address on the bus ("0000:18:00.0"). Empty: the agent did
	// not say.
	PCI string `json:"pci,omitempty"`
	// NVLinkPeers are indexes of devices this one is linked to.
	NVLinkPeers []int `json:"nvlink_peers,omitempty"`
	// NearestNIC and NICPath name the closest adapter and the path rank to it
	// (PIX, PXB, PHB, NODE, SYS). Empty: unknown.
	NearestNIC string `json:"nearest_nic,omitempty"`
	NICPath    string `json:"nic_path,omitempty"`
	// FabricState ([FabricCompleted] and so on) and Domain describe the GPU fabric:
	// a domain is its cluster's UUID, a dot and the clique. Empty: none or unknown.
	FabricState string `json:"fabric_state,omitempty"`
	Domain      string `json:"domain,omitempty"`
	// Bandwidth is the GPU fabric's to this device: [BandwidthFull] or
	// [BandwidthDegraded]. Empty: unknown.
	Bandwidth string `json:"bandwidth,omitempty"`
	// Problem is why the device must not be used, as a sentence. Empty: healthy.
	Problem string `json:"problem,omitempty"`
}

// The states of a device in its GPU fabric.
const (
	FabricNotStarted = "not started"
	FabricInProgress = "in progress"
	FabricCompleted  = "completed"
)

// The bandwidth of a GPU fabric.
const (
	BandwidthFull     = "full"
	BandwidthDegraded = "degraded"
)

// Healthy reports whether the device may be given out.
func (d Device) Healthy() bool { return d.Problem == "" }

// MIG reports whether the device is an instance of a partitioned card.
func (d Device) MIG() bool { return d.MIGProfile != "" }
