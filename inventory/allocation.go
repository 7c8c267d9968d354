package inventory

// DeviceShare is a device, or a part of the memory of one.
type DeviceShare struct {
	Index int `json:"index"`
	// MemoryMB is the reserved part in MiB of a device that others may share.
	// Zero means the whole device.
	MemoryMB int64 `json:"memory_mb,omitempty"`
}

// Allocation says what one shard occupies on one node. It is made when a
// replica is placed and released when its shard is known to be gone.
type Allocation struct {
	Shard   string        `json:"shard"`
	Replica string        `json:"replica"`
	Model   string        `json:"model"`
	Node    NodeID        `json:"node"`
	Devices []DeviceShare `json:"devices,omitempty"`
	// MemoryMB and Cores are reserved of the host. Zero: nothing was declared.
	MemoryMB int64 `json:"memory_mb,omitempty"`
	Cores    int   `json:"cores,omitempty"`
	// DiskMB is reserved for weights that are not on the node yet and for what
	// the profile writes beside them.
	DiskMB int64 `json:"disk_mb,omitempty"`
}
