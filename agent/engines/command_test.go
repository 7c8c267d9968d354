package engines_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/agent/engines"
	"llmgw.io/llmgw/agent/engines/simengine"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

var update = flag.Bool("update", false, "write the golden files anew")

const testKey = "sk-engine-1234"

// drivers are those of engines at made-up places.
func drivers() map[catalog.Engine]interface {
	Command(protocol.DesiredShard, protocol.Launch) (protocol.Command, error)
} {
	set := engines.New(engines.Config{LlamaServer: "/opt/llama/bin/llama-server", VLLM: []string{"/opt/vllm/bin/vllm"}, SimEngine: "/usr/bin/llmgw-agent"})
	return map[catalog.Engine]interface {
		Command(protocol.DesiredShard, protocol.Launch) (protocol.Command, error)
	}{catalog.EngineLlamaCPP: set.LlamaCPP, catalog.EngineVLLM: set.VLLM, catalog.EngineSim: set.Sim}
}

func shardOf(e catalog.Engine) protocol.DesiredShard {
	return protocol.DesiredShard{
		Shard: "m-1-0", Model: "team/chat", Profile: "small", Engine: e, EngineKey: testKey, Of: 1,
		TensorParallel: 1, PipelineParallel: 1, DataParallel: 1,
	}
}

func launchOf() protocol.Launch {
	return protocol.Launch{
		Weights: []string{"/w/chat-00001-of-00002.gguf", "/w/chat-00002-of-00002.gguf"},
		Host:    "127.0.0.1", Port: 20001, Dir: "/var/lib/llmgw/shards/1",
		Build: inventory.Engine{Name: "llamacpp", Build: "cuda"},
	}
}

type launchCase struct {
	name string
	d    protocol.DesiredShard
	at   protocol.Launch
}

// launchCases use every setting that a driver turns into a flag.
func launchCases() []launchCase {
	bare, full := shardOf(catalog.EngineLlamaCPP), shardOf(catalog.EngineLlamaCPP)
	full.Context, full.Slots, full.Cores, full.MemoryMB = 8000, 4, 12, 40960
	full.Files = []protocol.DesiredFile{{Path: "a", Bytes: 10 << 30}, {Path: "b", Bytes: 10 << 30}}
	full.Args = []string{"--embeddings", "--pooling", "mean", "-ub", "2048"}
	full.Env = map[string]string{"GGML_CUDA_ENABLE_UNIFIED_MEMORY": "1", "A": "x y"}
	adapted := launchOf()
	adapted.Adapters = []protocol.NamedFile{{Name: "law", Path: "/w/law.gguf"}, {Name: "tax", Path: "/w/tax.gguf"}}

	gpu := shardOf(catalog.EngineLlamaCPP)
	gpu.Devices = []inventory.DeviceShare{{Index: 2}, {Index: 3}}
	gpu.Args = []string{"-ngl", "99"}
	unlike, onTwo, instance := shardOf(catalog.EngineLlamaCPP), launchOf(), shardOf(catalog.EngineLlamaCPP)
	unlike.Devices = []inventory.DeviceShare{{Index: 3}, {Index: 1}}
	unlike.Args = []string{"--main-gpu", "1"}
	onTwo.Devices = []inventory.Device{
		{Index: 3, Card: 3, Class: "L40S-48", MemoryMB: 46068, UUID: "GPU-3f3f3f3f"}, {Index: 1, Card: 1, Class: "H100-80", MemoryMB: 81559, UUID: "GPU-1a1a1a1a"},
	}
	instance.Devices = []inventory.DeviceShare{{Index: 4}}
	_, onInstance := vllmInstance("")
	onInstance.Weights, onInstance.Build = launchOf().Weights, launchOf().Build
	one := shardOf(catalog.EngineLlamaCPP)
	one.Context, one.MemoryMB, one.Files = 100, 600, []protocol.DesiredFile{{Path: "a", Bytes: 400 << 20}}

	sim, simFull := shardOf(catalog.EngineSim), shardOf(catalog.EngineSim)
	simFull.Context, simFull.Slots = 4096, 8
	simFull.Args = []string{"--say", "alpha"}
	simFull.Env = map[string]string{"LANG": "de_DE.UTF-8"}
	empty := launchOf()
	empty.Weights = nil
	return append(vllmCases(), []launchCase{
		{"llamacpp-bare", bare, launchOf()},
		{"llamacpp-full", full, adapted},
		{"llamacpp-gpu", gpu, launchOf()},
		{"llamacpp-unlike-gpus", unlike, onTwo},
		{"llamacpp-mig", instance, onInstance},
		{"llamacpp-one-slot", one, launchOf()},
		{"sim-bare", sim, empty},
		{"sim-full", simFull, adapted},
	}...)
}

func TestCommandIsAsRecorded(t *testing.T) {
	t.Parallel()
	for _, c := range launchCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd, err := drivers()[c.d.Engine].Command(c.d, c.at)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			fmt.Fprintf(&b, "%s\n", cmd.Path)
			for _, a := range cmd.Args {
				fmt.Fprintf(&b, "    %s\n", a)
			}
			for _, e := range cmd.Env {
				fmt.Fprintf(&b, "%s\n", e)
			}
			if cmd.Stop != (protocol.Stopping{}) {
				fmt.Fprintf(&b, "stopped by a TERM for the leader alone: %v, with %v to end\n", cmd.Stop.LeaderOnly, cmd.Stop.Grace)
			}
			golden := filepath.Join("testdata", c.name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), b.String()); d != "" {
				t.Errorf("run with -update if this is meant (-want +got):\n%s", d)
			}
		})
	}
}

func TestTheKeyIsInTheEnvironmentOnly(t *testing.T) {
	t.Parallel()
	for _, c := range launchCases() {
		cmd, err := drivers()[c.d.Engine].Command(c.d, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(cmd.Args, " "), testKey) {
			t.Errorf("%s: the key is in the command line: %q", c.name, cmd.Args)
		}
		if !slices.ContainsFunc(cmd.Env, func(e string) bool { return strings.HasSuffix(e, "_API_KEY="+testKey) }) {
			t.Errorf("%s: the engine is not given its key", c.name)
		}
	}
}

// yields are what drivers set unless a definition does.
var yields = map[string]bool{
	"LANG": true, "HF_HUB_OFFLINE": true, "TRANSFORMERS_OFFLINE": true, "VLLM_NO_USAGE_STATS": true, "DO_NOT_TRACK": true,
	"PYTHONUNBUFFERED": true, "PYTHONNOUSERSITE": true,
	"-ngl": true, "--split-mode": true, "--main-gpu": true, "--tensor-split": true,
	"--max-loras": true, "--gpu-memory-utilization": true, "--kv-cache-memory-bytes": true,
}

// A flag that a driver sets and a definition may set too would be given twice,
// and the last one wins.
func TestWhatDriversSetDefinitionsMayNot(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range launchCases() {
		cmd, err := drivers()[c.d.Engine].Command(c.d, c.at)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range cmd.Args[:len(cmd.Args)-len(c.d.Args)] {
			if strings.HasPrefix(a, "-") {
				seen[a] = true
				if !yields[a] && catalog.ReservedArg(c.d.Engine, a) == "" {
					t.Errorf("%s: the driver sets %s, which definitions may set too", c.name, a)
				}
			}
		}
		for _, e := range cmd.Env {
			k, _, _ := strings.Cut(e, "=")
			if _, own := c.d.Env[k]; !own && !yields[k] && catalog.ReservedEnv(k) == "" {
				t.Errorf("%s: the driver sets %s, which definitions may set too", c.name, k)
			}
		}
	}
	if len(seen) < 42 {
		t.Errorf("the cases use only %d flags; one is missing for a new one", len(seen))
	}
}

func TestCommandRefusals(t *testing.T) {
	t.Parallel()
	type change = func(*protocol.DesiredShard, *protocol.Launch)
	for _, c := range []struct {
		name   string
		engine catalog.Engine
		change change
		want   string
	}{
		{"port in args", catalog.EngineLlamaCPP, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.Args = []string{"--port", "1"} }, "args may not hold --port: llmgw chooses where engines listen"},
		{"port in args, glued", catalog.EngineSim, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.Args = []string{"-port=1"} }, "args may not hold -port"},
		{"key in args", catalog.EngineLlamaCPP, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.Args = []string{"--api-key=x"} }, "args may not hold --api-key"},
		{"NUL in args", catalog.EngineSim, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.Args = []string{"a\x00b"} }, "NUL"},
		{"flag by variable", catalog.EngineLlamaCPP, func(d *protocol.DesiredShard, _ *protocol.Launch) {
			d.Env = map[string]string{"LLAMA_ARG_TOOLS": "all"}
		}, "env may not hold LLAMA_ARG_TOOLS"},
		{"loader variable", catalog.EngineSim, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.Env = map[string]string{"LD_PRELOAD": "/x.so"} }, "env may not hold LD_PRELOAD"},
		{"broken variable", catalog.EngineSim, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.Env = map[string]string{"A=B": "c"} }, "cannot be a variable"},
		{"no key", catalog.EngineLlamaCPP, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.EngineKey = "" }, "key is missing"},
		{"two keys", catalog.EngineLlamaCPP, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.EngineKey = "a,b" }, "key is missing or holds"},
		{"no model", catalog.EngineSim, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.Model = "a,b" }, "rename the model"},
		{"no address", catalog.EngineLlamaCPP, func(_ *protocol.DesiredShard, at *protocol.Launch) { at.Host = "/tmp/x.sock" }, "is no address"},
		{"no port", catalog.EngineLlamaCPP, func(_ *protocol.DesiredShard, at *protocol.Launch) { at.Port = 0 }, "0 is no port"},
		{"no folder", catalog.EngineSim, func(_ *protocol.DesiredShard, at *protocol.Launch) { at.Dir = "x" }, "must be absolute"},
		{"no weights", catalog.EngineLlamaCPP, func(_ *protocol.DesiredShard, at *protocol.Launch) { at.Weights = nil }, "needs a GGUF file"},
		{"several shards", catalog.EngineLlamaCPP, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.Of = 2 }, "set shards to 1"},
		{"pipelines", catalog.EngineLlamaCPP, func(d *protocol.DesiredShard, _ *protocol.Launch) { d.PipelineParallel = 2 }, "no pipeline or data parallelism"},
		{"GPUs for a build without", catalog.EngineLlamaCPP, func(d *protocol.DesiredShard, at *protocol.Launch) {
			d.Devices, at.Build.Build = []inventory.DeviceShare{{Index: 0}}, "cpu"
		}, "runs on no GPU"},
		{"two instances of a card", catalog.EngineLlamaCPP, func(d *protocol.DesiredShard, at *protocol.Launch) {
			_, on := vllmInstance("")
			d.Devices, at.Devices = []inventory.DeviceShare{{Index: 4}, {Index: 5}}, on.Devices
		}, "cannot be joined"},
		{"comma in an adapter's path", catalog.EngineLlamaCPP, func(_ *protocol.DesiredShard, at *protocol.Launch) {
			at.Adapters = []protocol.NamedFile{{Name: "a", Path: "/w/a,b.gguf"}}
		}, "comma or a colon"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, at := shardOf(c.engine), launchOf()
			c.change(&d, &at)
			_, err := drivers()[c.engine].Command(d, at)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("want an error with %q, got %v", c.want, err)
			}
			if d.EngineKey != "" && strings.Contains(err.Error(), d.EngineKey) {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

func TestAnEngineThatIsNotThereIsNotStarted(t *testing.T) {
	t.Parallel()
	set := engines.New(engines.Config{LlamaServer: "no-such-program-here"})
	if _, err := set.LlamaCPP.Command(shardOf(catalog.EngineLlamaCPP), launchOf()); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("want it refused as not installed, got %v", err)
	}
	if _, err := set.Sim.Command(shardOf(catalog.EngineSim), launchOf()); err == nil || !strings.Contains(err.Error(), "no simulated engine") {
		t.Errorf("want it refused, got %v", err)
	}
}

// Both sides of the simulated engine's command line are ours: they agree.
func TestTheSimulatedEngineTakesItsCommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range launchCases() {
		if c.d.Engine != catalog.EngineSim {
			continue
		}
		cmd, err := drivers()[c.d.Engine].Command(c.d, c.at)
		if err != nil {
			t.Fatal(err)
		}
		got, err := simengine.ParseFlags(cmd.Args[1:])
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if cmd.Args[0] != "sim-engine" || got.Addr != "127.0.0.1:20001" || !slices.Equal(got.Models, []string{"team/chat"}) {
			t.Errorf("%s: want it to serve team/chat at 127.0.0.1:20001, got %q and %+v", c.name, cmd.Args[0], got)
		}
		if got.Temper.MaxModelLen != c.d.Context || got.Temper.MaxNumSeqs != c.d.Slots || len(got.Adapters) != len(c.at.Adapters) {
			t.Errorf("%s: want context, slots and adapters as in the profile, got %+v", c.name, got)
		}
		if !slices.Contains(cmd.Env, simengine.KeyVariable+"="+testKey) {
			t.Errorf("%s: want the key in %s, got %q", c.name, simengine.KeyVariable, cmd.Env)
		}
	}
}
