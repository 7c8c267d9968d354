package engines

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
)

// vllmGraceTime is how long requests that are still there at the first TERM may go
// on. The agent has waited for them before, so that few are.
const vllmGraceTime = 10 * time.Second

// Command is vLLM's command line for a shard. The first shard of a replica serves;
// the others join it and listen to nobody.
//
// Every flag in it is one that definitions may not set, or that is left out where
// they do. The key is in the environment, since every user of a machine can read a
// command line. Nothing is fetched: what it needs is on the disk.
func (v *VLLM) Command(d protocol.DesiredShard, at protocol.Launch) (protocol.Command, error) {
	path := cmp.Or(at.Program, v.path(at.Build.Build))
	memory, lack := vllmMemory(d, at)
	if err := errors.Join(checkLaunch(d, at), checkVLLM(d, at, path), checkInstances(d, at), lack); err != nil {
		return protocol.Command{}, err
	}
	args := []string{
		"serve", modelOf(at.Weights),
		"--served-model-name", string(d.Model),
		"--host", at.Host, "--port", strconv.Itoa(at.Port),
		// Without it an answer does not say how much of a prompt was in the cache.
		"--enable-prompt-tokens-details",
	}
	args = append(args, vllmLimits(d)...)
	args = append(args, vllmShape(d)...)
	args = append(args, memory...)
	if catalog.RoomForAdapters(d.Engine, d.Args, len(at.Adapters)) {
		args = append(args, vllmAdapters(d, at.Adapters)...)
	}
	if knows(at.Build.Version, vllmQuietPaths) {
		args = append(args, "--disable-access-log-for-endpoints", "/health,/metrics")
	} else {
		args = append(args, "--disable-uvicorn-access-log")
	}
	stop := protocol.Stopping{LeaderOnly: true}
	if knows(at.Build.Version, vllmGrace) {
		stop.Grace = vllmGraceTime
		args = append(args, "--shutdown-timeout", strconv.Itoa(int(vllmGraceTime.Seconds())))
	}
	return protocol.Command{Path: path, Args: append(args, d.Args...), Env: vllmEnvironment(d, at, path), Stop: stop}, nil
}

// checkVLLM says what vLLM cannot do.
func checkVLLM(d protocol.DesiredShard, at protocol.Launch, path string) error {
	r := refusals{d: d}
	build := at.Build.Version
	r.when(path == "", "vLLM is not installed on this node; install it, or give its path to the agent")
	r.when(len(at.Weights) == 0, "vLLM needs weights on the disk; give the model a source")
	r.when(len(d.Devices) == 0 && at.Build.Build != buildCPU, "this build of vLLM needs a GPU; put gpu into the profile, or install a build for processors (%s)", buildCPU)
	r.when(len(d.Devices) > 0 && at.Build.Build == buildCPU, "build %s of vLLM runs on no GPU; install one that does, or leave gpu out of the profile", buildCPU)
	r.when(d.Context < 0 || d.Slots < 0 || d.Cores < 0, "context, slots and cpu_cores may not be negative")
	r.when(hasInstance(d, at) && lacks(build, vllmUUIDs), "vLLM %s cannot be put on an instance of a partitioned card: it takes devices by number, and an instance has none; install %s or newer, or use a whole card", clip(build), vllmUUIDs)
	r.when(given(d.Args, "--gpu-memory-utilization") && shared(d), "args may not hold --gpu-memory-utilization where devices are shared: llmgw sets it from what is reserved")
	for _, a := range at.Adapters {
		r.when(strings.ContainsAny(a.Name, "=, {") || a.Name == "", "%q cannot name an adapter for vLLM; use letters, digits and . _ - /", clip(a.Name))
	}
	if d.Of > 1 {
		checkNodes(&r, d, at)
	}
	return r.all()
}

// vllmLimits are the profile's context and slots. Each rank has a queue of its own,
// so that they share the slots.
func vllmLimits(d protocol.DesiredShard) []string {
	var args []string
	if d.Context > 0 {
		args = append(args, "--max-model-len", strconv.Itoa(d.Context))
	}
	if ranks := max(1, d.DataParallel); d.Slots > 0 {
		args = append(args, "--max-num-seqs", strconv.Itoa((d.Slots+ranks-1)/ranks))
	}
	return args
}

// vllmAdapters loads adapters at the start. vLLM changes them while it runs only
// with one process in front of all its ranks.
func vllmAdapters(d protocol.DesiredShard, as []protocol.NamedFile) []string {
	args := []string{"--enable-lora"}
	if d.DataParallel > 1 && d.Rank == 0 {
		args = append(args, "--api-server-count", "1")
	}
	if !given(d.Args, "--max-loras") {
		args = append(args, "--max-loras", strconv.Itoa(max(1, min(len(as), 8))))
	}
	if len(as) > 0 {
		args = append(args, "--lora-modules")
	}
	for _, a := range as {
		args = append(args, a.Name+"="+folderOf(a.Path))
	}
	return args
}

// vllmEnvironment is the whole environment. Of what it sets a profile may change
// what steers neither who is served nor where.
func vllmEnvironment(d protocol.DesiredShard, at protocol.Launch, path string) []string {
	own := []string{
		"VLLM_API_KEY=" + d.EngineKey,
		"CUDA_DEVICE_ORDER=PCI_BUS_ID",
		"CUDA_VISIBLE_DEVICES=" + visible(d, at, knows(at.Build.Version, vllmUUIDs)),
	}
	if catalog.RoomForAdapters(d.Engine, d.Args, len(at.Adapters)) {
		own = append(own, "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True")
	}
	if d.Cores > 0 {
		own = append(own, "OMP_NUM_THREADS="+strconv.Itoa(max(1, d.Cores/max(1, len(d.Devices)))))
	}
	own = append(own, vllmNetwork(d, at)...)
	for _, kv := range [...]string{
		"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1",
		"VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1",
		"PYTHONUNBUFFERED=1", "PYTHONNOUSERSITE=1",
	} {
		k, _, _ := strings.Cut(kv, "=")
		if _, set := d.Env[k]; !set {
			own = append(own, kv)
		}
	}
	env := environment(d, at, own...)
	// What vLLM compiles at its start it calls from its own folder.
	i := slices.Index(env, "PATH="+plainPath)
	env[i] = "PATH=" + filepath.Dir(path) + ":" + plainPath
	return env
}

// modelOf is what vLLM is given as the model: the folder of safetensors and their
// configuration, or one GGUF file.
func modelOf(weights []string) string {
	for _, w := range weights {
		if filepath.Base(w) == "config.json" {
			return filepath.Dir(w)
		}
	}
	return folderOf(weights[0])
}

// folderOf is the folder that a file of a model or an adapter stands in; what is no
// such file is taken for the folder, or for the one file there is.
func folderOf(path string) string {
	switch filepath.Ext(path) {
	case ".safetensors", ".json", ".bin", ".pt", ".pth", ".model":
		return filepath.Dir(path)
	}
	return path
}
