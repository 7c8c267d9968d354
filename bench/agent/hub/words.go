package main

import (
	"fmt"
	"time"

	"llmgw.io/llmgw/inventory"
)

// cards and fabricPorts are what each node has.
const (
	cards       = 8
	fabricPorts = 9
)

func to[T any](v T) *T { return &v }

// facts are those of a machine with eight cards and nine ports.
func facts(i int) inventory.Facts {
	f := inventory.Facts{
		Hostname: nodeName(i), MgmtAddr: addressOf(i).String(), AgentVersion: "v1.0.0", OS: "Debian GNU/Linux 13 (trixie)", Kernel: "6.12.0-18-amd64",
		Arch: "amd64", BootID: fmt.Sprintf("11111111-2222-3333-4444-%012d", i), Features: []string{"logs", "fabric-scan", "fabric-test", "collect"},
		Labels:   map[string]string{"rack": fmt.Sprintf("r%03d", i/32), "row": fmt.Sprintf("row%d", i/512), "pdu": fmt.Sprintf("p%03d", i/16)},
		MemoryMB: 2 << 20, CPUs: 192, ReserveMB: 4096, ReserveCPUs: 2, DiskFreeMB: 8 << 20, DiskTotalMB: 14 << 20,
		Engines: []inventory.Engine{{Name: "vllm", Build: "cu129", Version: "0.11.2"}, {Name: "llamacpp", Build: "cu129", Version: "b7100"}},
		Driver:  "580.95.05", CUDA: "13.0", CPUFlags: []string{"amx_bf16", "amx_int8", "avx2", "avx512f", "avx512_bf16"},
		IMEX: "ready", IMEXChannels: to(1), EngineAccess: "loopback",
		Disks: []inventory.Disk{
			{Mount: "/", Source: "/dev/md0", Type: "ext4", FreeMB: 800_000, TotalMB: 900_000},
			{Mount: "/weights", Source: "/dev/md1", Type: "xfs", FreeMB: 8 << 20, TotalMB: 14 << 20},
		},
	}
	for d := range cards {
		f.Devices = append(f.Devices, inventory.Device{
			Index: d, UUID: fmt.Sprintf("GPU-%08d-0000-0000-0000-00000000000%d", i, d), Name: "NVIDIA H100 80GB HBM3", Label: fmt.Sprint(d),
			Class: "h100-80g", Card: d, MemoryMB: 81559, ComputeCapability: "9.0", NUMA: d / 4, PCIRoot: fmt.Sprintf("0000:%02x", 0x15+d),
			PCI: fmt.Sprintf("0000:%02x:00.0", 0x1a+d), NVLinkPeers: []int{0, 1, 2, 3, 4, 5, 6}, NearestNIC: fmt.Sprintf("mlx5_%d", d), NICPath: "PIX",
		})
	}
	for p := range fabricPorts {
		f.Ports = append(f.Ports, inventory.Port{
			HCA: fmt.Sprintf("mlx5_%d", p), Port: 1, State: "ACTIVE", RateGbps: 400, LinkLayer: "InfiniBand", Active: true,
			Physical: "sm:e09d730300156ff6", PhysState: "LinkUp", NodeGUID: fmt.Sprintf("e09d%06x%06x", i, p), PortGUID: fmt.Sprintf("e09e%06x%06x", i, p),
			PCI: fmt.Sprintf("0000:%02x:00.1", 0x1a+p), PCIRoot: fmt.Sprintf("0000:%02x", 0x15+p), NUMA: to(p / 5), LID: 1 + i%40000, SMLID: 1,
			SM: &inventory.SubnetManager{GUID: "e09d730300156ff6", LID: 1, State: "master", Priority: 14}, MTU: 4096,
		})
	}
	for w := range 10 {
		f.Weights = append(f.Weights, inventory.Weight{Path: fmt.Sprintf("org/model-%d/model.safetensors", w), Bytes: 1 << 34, Source: fmt.Sprintf("hf://org/model-%d@main", w)})
	}
	return f
}

// measured is one measurement of such a machine.
func measured(n int) *inventory.Sample {
	s := &inventory.Sample{
		CPUPercent: 12.5, Load1: 20.25, Load5: 21.5, Load15: 22.75, MemoryUsedBytes: 900 << 30, MemoryTotalBytes: 2 << 40, DiskFreeBytes: 8 << 40,
		CPUTempC: to(61.0), CPUPowerW: to(280.5), InletTempC: to(24.0),
	}
	for d := range cards {
		s.GPUs = append(s.GPUs, inventory.GPUSensor{Card: d, TempC: to(58.0), PowerW: to(612.5), UtilPercent: to(97.0), MemoryUsedMB: to(int64(76_000 + n%100))})
	}
	for p := range fabricPorts {
		s.Ports = append(s.Ports, inventory.PortCounters{HCA: fmt.Sprintf("mlx5_%d", p), Port: 1, TxBytes: to(int64(n) << 32), RxBytes: to(int64(n) << 32)})
	}
	s.Ports[0].Errors = map[string]int64{"link_downed": 1}
	return s
}

// runs is a shard that does what is desired.
func runs(id, model, profile, address string, since time.Time) inventory.ShardStatus {
	return inventory.ShardStatus{ID: id, Model: model, Profile: profile, State: inventory.ShardReady, Address: address, Gate: true, Since: since, Starts: 1}
}
