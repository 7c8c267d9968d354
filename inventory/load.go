package inventory

// Sample is what an agent measured at one moment. It rides in the beat, every
// 15 seconds, and makes no new version of a node.
type Sample struct {
	CPUPercent       float64 `json:"cpu_percent"`
	Load1            float64 `json:"load1"`
	Load5            float64 `json:"load5"`
	Load15           float64 `json:"load15"`
	MemoryUsedBytes  int64   `json:"memory_used_bytes"`
	MemoryTotalBytes int64   `json:"memory_total_bytes"`
	DiskFreeBytes    int64   `json:"disk_free_bytes,omitempty"`
	// CPUTempC, CPUPowerW and InletTempC are nil where no sensor says.
	CPUTempC   *float64    `json:"cpu_temp_c,omitempty"`
	CPUPowerW  *float64    `json:"cpu_power_w,omitempty"`
	InletTempC *float64    `json:"inlet_temp_c,omitempty"`
	GPUs       []GPUSensor `json:"gpus,omitempty"`
	// Ports are the counters of the adapters' ports. Empty: none was read.
	Ports []PortCounters `json:"ports,omitempty"`
}

// PortCounters are the counters of one adapter's port since its driver loaded.
type PortCounters struct {
	HCA  string `json:"hca"`
	Port int    `json:"port"`
	// TxBytes and RxBytes are payload in bytes. Nil: the port does not count.
	TxBytes *int64 `json:"tx_bytes,omitempty"`
	RxBytes *int64 `json:"rx_bytes,omitempty"`
	// Errors are the counters of real errors that are not zero, by the kernel's
	// name for them.
	Errors map[string]int64 `json:"errors,omitempty"`
}

// Counters are the newest of a port of the node. Nil: none was read.
func (n *Node) Counters(p *Port) *PortCounters {
	if n.Sample == nil {
		return nil
	}
	for i := range n.Sample.Ports {
		if c := &n.Sample.Ports[i]; c.HCA == p.HCA && c.Port == p.Port {
			return c
		}
	}
	return nil
}

// GPUSensor is what one physical card measures; MIG instances share it.
type GPUSensor struct {
	Card         int      `json:"card"`
	TempC        *float64 `json:"temp_c,omitempty"`
	PowerW       *float64 `json:"power_w,omitempty"`
	UtilPercent  *float64 `json:"util_percent,omitempty"`
	MemoryUsedMB *int64   `json:"memory_used_mb,omitempty"`
}
