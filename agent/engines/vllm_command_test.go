package engines_test

import (
	"strings"
	"testing"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// vllmShard is one shard on whole cards.
func vllmShard(cards int) protocol.DesiredShard {
	d := shardOf(catalog.EngineVLLM)
	d.TensorParallel = cards
	for i := range cards {
		d.Devices = append(d.Devices, inventory.DeviceShare{Index: i})
	}
	return d
}

// vllmLaunch is a launch of a version, on a machine with as many cards.
func vllmLaunch(version string, cards int) protocol.Launch {
	at := launchOf()
	at.Weights = []string{"/w/chat/config.json", "/w/chat/model-00001-of-00001.safetensors", "/w/chat/tokenizer.json"}
	at.WeightsBytes = 16 << 30
	at.Build = inventory.Engine{Name: "vllm", Version: version}
	for i := range cards {
		at.Devices = append(at.Devices, inventory.Device{Index: i, Card: i, Class: "H100-80", MemoryMB: 81559, UUID: "GPU-" + strings.Repeat(string(rune('a'+i)), 8)})
	}
	return at
}

// vllmInstance is a launch on one instance of a partitioned card.
func vllmInstance(version string) (protocol.DesiredShard, protocol.Launch) {
	d, at := vllmShard(1), vllmLaunch(version, 0)
	d.Devices[0].Index = 4
	at.Devices = []inventory.Device{{Index: 4, Card: 1, Label: "1/mig0", Class: "3g.40gb", MIGProfile: "3g.40gb", MemoryMB: 40448, UUID: "MIG-1c1c1c1c-0000-5555-9999-4c4c4c4c4c4c"}}
	return d, at
}

// vllmRank is one of two nodes with eight cards each.
func vllmRank(rank int) (protocol.DesiredShard, protocol.Launch) {
	d, at := vllmShard(8), vllmLaunch("0.24.0", 8)
	d.Rank, d.Of, d.PipelineParallel = rank, 2, 2
	d.LeaderAddr, d.LeaderPort = "10.0.0.1", 19014
	d.HCAs = []string{"mlx5_0:1", "mlx5_1:1"}
	at.Addr, at.Interface = []string{"10.0.0.1", "10.0.0.2"}[rank], "bond0"
	return d, at
}

// vllmCases use every setting that the driver turns into a flag, and versions from
// before and after each that it knows.
func vllmCases() []launchCase {
	of := func(name string, make func() (protocol.DesiredShard, protocol.Launch)) launchCase {
		d, at := make()
		return launchCase{name, d, at}
	}
	one := func(version string) func() (protocol.DesiredShard, protocol.Launch) {
		return func() (protocol.DesiredShard, protocol.Launch) { return vllmShard(1), vllmLaunch(version, 1) }
	}
	return []launchCase{
		of("vllm-1x1-unknown", one("")),
		of("vllm-1x1-0.10", one("0.10.1")),
		of("vllm-1x1-0.16", one("0.16.0")),
		of("vllm-1x1-0.32", one("0.32.0+cu129")),
		of("vllm-tp8", func() (protocol.DesiredShard, protocol.Launch) {
			d, at := vllmShard(8), vllmLaunch("0.24.0", 8)
			d.Context, d.Slots, d.Cores = 32768, 64, 32
			d.Args = []string{"--gpu-memory-utilization", "0.95", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"}
			d.Env = map[string]string{"NCCL_DEBUG": "INFO", "HF_HUB_OFFLINE": "0"}
			return d, at
		}),
		of("vllm-2x8-rank0", func() (protocol.DesiredShard, protocol.Launch) { return vllmRank(0) }),
		of("vllm-2x8-rank1", func() (protocol.DesiredShard, protocol.Launch) { return vllmRank(1) }),
		of("vllm-2x8-no-fabric", func() (protocol.DesiredShard, protocol.Launch) {
			d, at := vllmRank(1)
			d.HCAs, at.Interface = nil, ""
			return d, at
		}),
		of("vllm-dp4", func() (protocol.DesiredShard, protocol.Launch) {
			d, at := vllmShard(8), vllmLaunch("0.24.0", 8)
			d.TensorParallel, d.DataParallel, d.Slots = 2, 4, 30
			return d, at
		}),
		of("vllm-dp4-lora", func() (protocol.DesiredShard, protocol.Launch) {
			d, at := vllmShard(4), vllmLaunch("0.24.0", 4)
			d.TensorParallel, d.DataParallel = 1, 4
			at.Adapters = []protocol.NamedFile{{Name: "law", Path: "/w/law/adapter_model.safetensors"}}
			return d, at
		}),
		of("vllm-2x8-dp4-rank1", func() (protocol.DesiredShard, protocol.Launch) {
			d, at := vllmRank(1)
			d.TensorParallel, d.PipelineParallel, d.DataParallel = 4, 1, 4
			return d, at
		}),
		of("vllm-mig", func() (protocol.DesiredShard, protocol.Launch) { return vllmInstance("0.24.0") }),
		of("vllm-mig-given", func() (protocol.DesiredShard, protocol.Launch) {
			d, at := vllmInstance("")
			d.Args = []string{"--kv-cache-memory-bytes=1073741824"}
			return d, at
		}),
		of("vllm-shared", func() (protocol.DesiredShard, protocol.Launch) {
			d, at := vllmShard(1), vllmLaunch("0.24.0", 1)
			d.Devices[0].MemoryMB = 24 << 10
			return d, at
		}),
		of("vllm-lora", func() (protocol.DesiredShard, protocol.Launch) {
			d, at := vllmShard(1), vllmLaunch("0.24.0", 1)
			d.Args = []string{"--max-lora-rank", "64"}
			at.Adapters = []protocol.NamedFile{{Name: "law", Path: "/w/law/adapter_model.safetensors"}, {Name: "team/tax", Path: "/w/tax"}}
			return d, at
		}),
		of("vllm-lora-later", func() (protocol.DesiredShard, protocol.Launch) {
			d, at := vllmShard(1), vllmLaunch("0.24.0", 1)
			d.Args = []string{"--max-loras", "4"}
			return d, at
		}),
		of("vllm-gguf-cpu", func() (protocol.DesiredShard, protocol.Launch) {
			d, at := vllmShard(0), vllmLaunch("0.24.0", 0)
			d.TensorParallel, d.Cores = 1, 16
			at.Build.Build, at.Weights = "cpu", []string{"/w/chat.gguf"}
			return d, at
		}),
	}
}

func TestVLLMRefusals(t *testing.T) {
	t.Parallel()
	type change = func(*protocol.DesiredShard, *protocol.Launch)
	one := func() (protocol.DesiredShard, protocol.Launch) { return vllmShard(1), vllmLaunch("0.24.0", 1) }
	two := func() (protocol.DesiredShard, protocol.Launch) { return vllmRank(1) }
	mig := func(version string) func() (protocol.DesiredShard, protocol.Launch) {
		return func() (protocol.DesiredShard, protocol.Launch) { return vllmInstance(version) }
	}
	for _, c := range []struct {
		name   string
		make   func() (protocol.DesiredShard, protocol.Launch)
		change change
		want   string
	}{
		{"no weights", one, func(_ *protocol.DesiredShard, at *protocol.Launch) { at.Weights = nil }, "give the model a source"},
		{"no device", one, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.Devices = nil }, "needs a GPU"},
		{"a key in args", one, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.Args = []string{"--api-key", "x"} }, "args may not hold --api-key"},
		{"dev mode", one, func(d *protocol.DesiredShard, _ *protocol.Launch) {
			d.Env = map[string]string{"VLLM_SERVER_DEV_MODE": "1"}
		}, "env may not hold VLLM_SERVER_DEV_MODE"},
		{"a share of nobody knows what", one, func(d *protocol.DesiredShard, at *protocol.Launch) {
			d.Devices[0].MemoryMB, at.Devices = 1024, nil
		}, "does not say how much memory device 0 has"},
		{"utilization of a shared device", one, func(d *protocol.DesiredShard, _ *protocol.Launch) {
			d.Devices[0].MemoryMB, d.Args = 1024, []string{"--gpu-memory-utilization=0.9"}
		}, "llmgw sets it from what is reserved"},
		{"an adapter that is a pair", one, func(_ *protocol.DesiredShard, at *protocol.Launch) {
			at.Adapters = []protocol.NamedFile{{Name: "a=b", Path: "/w/a"}}
		}, "cannot name an adapter"},

		{"an instance, by a version that was seen to crash", mig("0.20.1"), nil, "vLLM 0.20.1 cannot be put on an instance of a partitioned card"},
		{"an instance, by the last one that was", mig("0.22.0"), nil, "install 0.24.0 or newer"},
		{"two instances", mig("0.24.0"), func(d *protocol.DesiredShard, at *protocol.Launch) {
			d.Devices = append(d.Devices, inventory.DeviceShare{Index: 5})
		}, "cannot be joined"},
		{"an instance without a name", mig("0.24.0"), func(_ *protocol.DesiredShard, at *protocol.Launch) { at.Devices[0].UUID = "" }, "does not say the UUID of instance 1/mig0"},
		{"an instance that is too small", mig("0.24.0"), func(_ *protocol.DesiredShard, at *protocol.Launch) { at.WeightsBytes = 37 << 30 }, "leaves too little for contexts"},
		{"an instance and weights of unknown size", mig("0.24.0"), func(_ *protocol.DesiredShard, at *protocol.Launch) { at.WeightsBytes = 0 }, "give --kv-cache-memory-bytes"},

		{"nodes, by a version without", two, func(_ *protocol.DesiredShard, at *protocol.Launch) { at.Build.Version = "0.11.2" }, "runs on one node only"},
		{"no leader", two, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.LeaderAddr = "" }, "does not say at which address"},
		{"no port", two, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.LeaderPort = 0 }, "no port to find each other"},
		{"no address of its own", two, func(_ *protocol.DesiredShard, at *protocol.Launch) { at.Addr = "" }, "set mgmt_addr"},
		{"sizes that do not multiply", two, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.PipelineParallel = 3 }, "are not the 24"},
		{"a port that is a list", two, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.HCAs = []string{"mlx5_0:1,^mlx5_1"} }, "is no port of an adapter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, at := c.make()
			if c.change != nil {
				c.change(&d, &at)
			}
			_, err := drivers()[catalog.EngineVLLM].Command(d, at)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("want an error with %q, got %v", c.want, err)
			}
			if strings.Contains(err.Error(), d.EngineKey) {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}
