package view_test

import (
	"time"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// fullNode says everything that a node can say.
func fullNode() *inventory.Node {
	return &inventory.Node{
		ID: "a1",
		Facts: inventory.Facts{
			Hostname: "a1.example.org", MgmtAddr: "10.0.0.1", AgentVersion: "v1.2.3", OS: "Ubuntu 24.04", Features: []string{"logs"},
			Labels:   map[string]string{"llmgw.io/rack": "r12-07", "llmgw.io/site": "north", "tier": "old"},
			MemoryMB: 2063597, CPUs: 192, DiskFreeMB: 5000, DiskTotalMB: 7340032, Warnings: []string{"no AVX2"},
			Devices: []inventory.Device{
				{Index: 0, Name: "NVIDIA H100 80GB HBM3", Label: "0", Class: "H100-80", Card: 0, MemoryMB: 81559, ComputeCapability: "9.0", NUMA: 0, PCIRoot: "0000:17", NVLinkPeers: []int{1}, NearestNIC: "mlx5_0", NICPath: "PIX", FabricState: "completed", Domain: "01020304-0000-0000-0000-000000000000.7", Bandwidth: "full"},
				{Index: 1, Name: "NVIDIA H100 80GB HBM3", Label: "1", Class: "H100-80", Card: 1, MemoryMB: 81559, NUMA: 1},
				{Index: 2, Name: "NVIDIA H100 80GB HBM3", Label: "2", Class: "H100-80", Card: 2, NUMA: -1, Problem: "48 uncorrectable errors"},
				{Index: 3, Name: "NVIDIA H100 80GB HBM3 MIG 3g.40gb", Label: "3/mig0", Class: "3g.40gb", Card: 3, MIGProfile: "3g.40gb", MemoryMB: 40192},
			},
			Ports: []inventory.Port{
				{
					HCA: "mlx5_0", Port: 1, State: "ACTIVE", PhysState: "LinkUp", RateGbps: 400, LinkLayer: "InfiniBand", Active: true, Fabric: "ib0",
					Physical: "sm:b83fd203001a0011", NodeGUID: "b83fd203001a0010", PortGUID: "b83fd203001a0010", SMLID: 11,
					SM:  &inventory.SubnetManager{GUID: "b83fd203001a0011", LID: 11, State: "master", Priority: 5},
					SMs: []inventory.SubnetManager{{GUID: "b83fd203001a0010", LID: 12, State: "standby", Priority: 3}},
				},
				{HCA: "mlx5_1", Port: 1, State: "DOWN", PhysState: "Polling", SMError: "sminfo is not installed"},
			},
			IMEX: inventory.IMEXReady, IMEXChannels: ptr(0), Driver: "580.95.05", CUDA: "13.0",
			Disks:   []inventory.Disk{{Mount: "/var/lib/llmgw", Source: "/dev/nvme0n1", Type: "xfs", FreeMB: 5000, TotalMB: 7340032}, {Mount: "/nfs", Source: "nas:/models", Type: "nfs4", Shared: true, FreeMB: 1 << 20, TotalMB: 1 << 24}},
			Upgrade: &inventory.Upgrade{From: "v1.1.0", To: "v1.2.0", State: inventory.UpgradeFailed, Error: "v1.2.0 was not answered", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
			Provision: []inventory.EngineInstall{
				{Engine: "vllm", Build: "cu130", Version: "0.15.0", State: inventory.InstallFetching, Percent: ptr(40), Since: now.Add(-time.Minute)},
				{Engine: "sglang", State: inventory.InstallFailed, Error: "The driver is too old; install 580 or newer.", Since: now.Add(-time.Hour)},
			},
			Prefetch: []inventory.Prefetched{
				{Model: "big", Source: "hf://org/big@main", State: inventory.PrefetchFetching, Percent: ptr(40)},
				{Model: "gone", Source: "https://h/gone.gguf", State: inventory.PrefetchFailed, Error: "there is no such file; check the source"},
			},
			Engines: []inventory.Engine{{Name: "vllm", Build: "cu129", Version: "0.14.0"}, {Name: "llamacpp", Build: "cpu"}, {Name: "llamacpp", Build: "cu129"}},
			Weights: []inventory.Weight{{Path: "tiny.gguf", Bytes: 1 << 20}, {Path: "big", Bytes: 1 << 40}},
		},
		Settings: inventory.NodeSettings{Labels: map[string]string{"tier": "new"}, Wish: inventory.WishCordoned},
		Hearing:  inventory.Heard, LastSeen: now.Add(-3400 * time.Millisecond),
		Allocations: []inventory.Allocation{
			{Shard: "big-1.0", Replica: "big-1", Devices: []inventory.DeviceShare{{Index: 1}}},
			{Shard: "big-1.1", Replica: "big-1"},
			{Shard: "tiny-2.0", Replica: "tiny-2"},
		},
		Shards: []inventory.ShardStatus{
			{ID: "big-1.0", State: inventory.ShardReady, Address: "10.0.0.1:20001", Use: &inventory.ShardUse{CPUCores: 3.5, MemoryBytes: 9 << 30}},
			{ID: "tiny-2.0", State: inventory.ShardFetching, Fetch: &inventory.Fetch{Source: "mirror", BytesDone: 410, BytesTotal: 1000}},
		},
		ShardsKnown: true,
		Sample: &inventory.Sample{
			CPUPercent: 12.5, Load1: 1, Load5: 2, Load15: 3, MemoryUsedBytes: 100 << 30, MemoryTotalBytes: 2015 << 30, DiskFreeBytes: 3 << 40,
			Ports:    []inventory.PortCounters{{HCA: "mlx5_0", Port: 1, TxBytes: ptr(int64(1 << 40)), RxBytes: ptr(int64(1 << 41)), Errors: map[string]int64{"symbol_error": 3}}},
			CPUTempC: ptr(51.0), GPUs: []inventory.GPUSensor{{Card: 0, TempC: ptr(40.0), MemoryUsedMB: ptr(int64(1024))}, {Card: 3, MemoryUsedMB: ptr(int64(7))}},
		},
		SampleAt: now.Add(-12 * time.Second),
	}
}

// silentNode says nothing: it was made known and is not heard of yet.
func silentNode() *inventory.Node {
	return &inventory.Node{ID: "b1", Hearing: inventory.Unreachable}
}

func tiny() catalog.Model {
	return catalog.Model{
		Name: "tiny", Source: "file:///w/tiny.gguf", Aliases: []catalog.Name{"small"}, Class: catalog.ClassBatch, Owner: "team-a",
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, CPUCores: 4, Pool: "cheap"}},
		Canary:   &catalog.Canary{Model: "big", Share: 0.1},
		Origin:   &catalog.Origin{Repo: "org/tiny", Revision: "abc", Previous: &catalog.Previous{Revision: "000", Source: "file:///w/old.gguf"}},
	}
}

func big() catalog.Model {
	return catalog.Model{
		Name: "big", Source: "hf://org/big@main", Scaling: &catalog.Scaling{Min: 0, Max: ptr(4)}, Fallbacks: []catalog.Name{"far"},
		Prefetch: &catalog.Prefetch{Nodes: []inventory.NodeID{"a1", "gone"}},
		Profiles: []catalog.Profile{{Name: "tp1", Engine: catalog.EngineVLLM, MemoryGB: 8, GPU: &catalog.GPU{Class: "H100-80", Count: 1}}},
	}
}

// world is a look at two nodes and four models.
func world() view.World {
	bigNow, tinyNow := big(), tiny()
	far := catalog.Model{Name: "far", External: &catalog.External{URL: "https://api.example.org/v1", Model: "far-large", Key: ptr("SECRET")}}
	near := catalog.Model{Name: "near", Profiles: []catalog.Profile{{Name: "theirs", Engine: catalog.EngineStatic, Endpoints: []catalog.Endpoint{{URL: "http://10.9.9.9:8000", Key: ptr("SECRET")}}}}}
	edited := bigNow.Profiles[0]
	edited.Context = 4096
	return view.World{
		Now: now, Stored: true,
		View: &reconciler.View{
			At: now, Fleet: inventory.NewSnapshot(7, []*inventory.Node{fullNode(), silentNode()}),
			Catalog: catalog.NewIndex(3, []catalog.Entry{{Model: tinyNow, Revision: 4}, {Model: bigNow, Revision: 9}, {Model: far}, {Model: near, Declared: true}}),
			Replicas: []reconciler.Replica{
				{
					ID: "big-1", Model: "big", Profile: edited, Source: bigNow.Source, Fingerprint: catalog.Fingerprint(&bigNow, &edited), CreatedAt: now.Add(-time.Hour),
					Phase: reconciler.Run, Restart: reconciler.Replace,
					Shards: []reconciler.Shard{{ID: "big-1.0", Spot: inventory.Allocation{Node: "a1", Devices: []inventory.DeviceShare{{Index: 1}}}}},
				},
				{
					ID: "big-3", Model: "big", Profile: bigNow.Profiles[0].WithDefaults(), Source: bigNow.Source, CreatedAt: now.Add(-time.Minute), Phase: reconciler.Run, Replaces: "big-1",
					Fingerprint: catalog.Fingerprint(&bigNow, ptr(bigNow.Profiles[0].WithDefaults())),
					Shards:      []reconciler.Shard{{ID: "big-3.0", Spot: inventory.Allocation{Node: "gone", Devices: []inventory.DeviceShare{{Index: 5}}}}},
				},
				{
					ID: "tiny-2", Model: "tiny", Profile: tinyNow.Profiles[0], CreatedAt: now.Add(-30 * time.Second), Phase: reconciler.Run,
					Shards: []reconciler.Shard{{ID: "tiny-2.0", Spot: inventory.Allocation{Node: "a1"}}},
				},
			},
			Health: map[catalog.Name]reconciler.ModelHealth{
				"big":  {Desired: 1, Why: reconciler.WhyDemand, Ready: 1, Total: 2},
				"tiny": {Desired: 1, Why: reconciler.WhyMin, Total: 1, Failures: 2, Reason: "The engine exited.", Unplaceable: true, Clamps: []string{"held back: 2 failures"}},
			},
			Traces: map[catalog.Name]placement.Trace{"tiny": {Profiles: []placement.ProfileTrace{{
				Profile: "cpu", Looked: 2, Counts: map[placement.Reason]int{placement.NotReady: 1, placement.Cores: 1},
				Lines: []placement.Rejection{
					{Node: "a1", Reason: placement.NotReady, Text: "a1 is cordoned"},
					{Node: "b1", Reason: placement.Cores, Text: "needs 4 cores, 2 free", Need: 4, Have: 2, Unit: "cores"},
				},
				Best: []placement.Score{{Node: "a1", Total: 12.5, Parts: map[string]float64{"spread": 10, "weights": 2.5}}},
			}}}},
			Traffic: reconciler.Traffic{
				Models:   map[catalog.Name]reconciler.ModelTraffic{"big": {Waiting: 3, InFlight: 5}},
				Replicas: map[reconciler.ReplicaID]reconciler.ReplicaTraffic{"big-1": {LastUsed: now.Add(-90 * time.Second)}},
			},
		},
		Looks: func(m *catalog.Model) (view.Look, bool) {
			return view.Look{
				SeenWeights: view.SeenWeights{Architecture: "llama", ContextLength: 1024, Layers: 22, Bytes: 700 << 20, LookedAt: now.Add(-time.Hour)},
				Wrong:       []string{"source: the file is cut"}, Unsure: []string{"adapters[0].source: the source answers 503"},
			}, m.Name == "tiny"
		},
		Statics: []view.Static{{Model: "near", Profile: "theirs", URL: "http://10.9.9.9:8000", Error: "connection refused", Since: now.Add(-time.Minute)}},
	}
}
