package engines

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
)

const (
	// llamaThreads is for a profile that reserves no cores. llama-server would
	// take all of them, and its threads spin while they wait, so one such engine
	// would slow everything else on the machine.
	llamaThreads = 2
	// llamaStep is what llama-server rounds contexts up to.
	llamaStep = 256
	// llamaPromptsMB is the most host memory that llama-server keeps finished
	// prompts in, which is its own default.
	llamaPromptsMB = 8192
	// llamaPromptsLeastMB is the least that is of any use.
	llamaPromptsLeastMB = 64
)

// Command is llama-server's command line for a shard.
//
// Every flag in it is one that definitions may not set; a test holds the two
// lists together. The key is in the environment, since every user of a machine
// can read a command line.
func (l *LlamaCPP) Command(d protocol.DesiredShard, at protocol.Launch) (protocol.Command, error) {
	path := cmp.Or(at.Program, l.program.last())
	if err := errors.Join(checkLaunch(d, at), checkLlama(d, at, path), checkInstances(d, at)); err != nil {
		return protocol.Command{}, err
	}
	args := []string{
		"-m", at.Weights[0],
		"--host", at.Host, "--port", strconv.Itoa(at.Port),
		"--alias", string(d.Model),
		"--metrics",
		// Streams notice the first TERM at the next ping.
		"--sse-ping-interval", "1",
		// The default lets every page in a browser in.
		"--cors-origins", "localhost",
		"-t", strconv.Itoa(threads(d)),
		"-cram", strconv.FormatInt(llamaPrompts(d), 10),
	}
	args = append(args, llamaContext(d)...)
	args = append(args, llamaDevices(d, at)...)
	if len(at.Adapters) > 0 {
		args = append(args, "--lora-scaled", llamaAdapters(at.Adapters))
	}
	env := environment(d, at,
		"LLAMA_API_KEY="+d.EngineKey,
		"OMP_WAIT_POLICY=passive",
		"OMP_NUM_THREADS="+strconv.Itoa(threads(d)),
		"CUDA_DEVICE_ORDER=PCI_BUS_ID",
		"CUDA_VISIBLE_DEVICES="+visible(d, at, true),
	)
	return protocol.Command{Path: path, Args: append(args, d.Args...), Env: env}, nil
}

// checkLlama says what llama-server cannot do.
func checkLlama(d protocol.DesiredShard, at protocol.Launch, path string) error {
	r := refusals{d: d}
	r.when(path == "", "llama-server is not installed on this node; install it, or give its path to the agent")
	r.when(len(at.Weights) == 0, "llama-server needs a GGUF file; give the model a source")
	r.when(d.Of > 1, "llama-server runs a replica in one process; set shards to 1")
	r.when(d.PipelineParallel > 1 || d.DataParallel > 1, "llama-server has no pipeline or data parallelism; leave both out, it splits a model over its GPUs by itself")
	r.when(len(d.Devices) > 0 && at.Build.Build == buildCPU, "build %s of llama-server runs on no GPU; install one that does, or leave gpu out of the profile", buildCPU)
	r.when(d.Context < 0 || d.Slots < 0 || d.Cores < 0, "context, slots and cpu_cores may not be negative")
	for _, a := range at.Adapters {
		r.when(strings.ContainsAny(a.Path, ",:"), "the adapter file %q has a comma or a colon in its path, which llama-server takes for the end of it; rename it", clip(a.Path))
	}
	return r.all()
}

// llamaContext shares the context out: -c is for all slots together, and each
// gets its part. A context without slots is that of one slot, so that it holds
// for every request: several would have to share it.
func llamaContext(d protocol.DesiredShard) []string {
	slots := d.Slots
	if slots == 0 && d.Context > 0 {
		slots = 1
	}
	var args []string
	if d.Context > 0 {
		each := (d.Context + llamaStep - 1) / llamaStep * llamaStep
		args = append(args, "-c", strconv.Itoa(each*slots))
	}
	if slots > 0 {
		args = append(args, "-np", strconv.Itoa(slots))
	}
	return args
}

// threads is how many threads an engine may run.
func threads(d protocol.DesiredShard) int {
	if d.Cores > 0 {
		return d.Cores
	}
	return llamaThreads
}

// llamaPrompts is the host memory in MiB for finished prompts: a quarter of what
// the reservation leaves beside the weights, the rest being for the contexts.
// None when nothing was reserved or the size of the weights is not known: what
// llama-server keeps by itself would grow far beyond what it was placed with.
func llamaPrompts(d protocol.DesiredShard) int64 {
	var weights int64
	for _, f := range d.Files {
		if f.Bytes <= 0 {
			return 0
		}
		weights += f.Bytes
	}
	if weights == 0 {
		return 0
	}
	mb := min((d.MemoryMB-weights>>20)/4, llamaPromptsMB)
	if mb < llamaPromptsLeastMB {
		return 0
	}
	return mb
}

// llamaAdapters loads adapters without applying them. A request names the ones it
// wants by their place in this list.
func llamaAdapters(as []protocol.NamedFile) string {
	parts := make([]string, len(as))
	for i, a := range as {
		parts[i] = a.Path + ":0"
	}
	return strings.Join(parts, ",")
}

// llamaLayers is more layers than any model has: all of them go to the GPUs. Of its
// own accord llama-server leaves on the processor what does not fit, and is slow
// where it had better fail.
const llamaLayers = 999

// llamaDevices is how a model is laid out over GPUs, which the engine counts from
// zero in the order in which it is shown them. A definition may say it otherwise.
func llamaDevices(d protocol.DesiredShard, at protocol.Launch) []string {
	if len(d.Devices) == 0 {
		return []string{"-dev", "none"}
	}
	var args []string
	unless := func(value string, flags ...string) {
		if !given(d.Args, flags...) {
			args = append(args, flags[0], value)
		}
	}
	unless(strconv.Itoa(llamaLayers), "-ngl", "--gpu-layers", "--n-gpu-layers")
	if len(d.Devices) == 1 {
		unless("none", "--split-mode", "-sm")
		unless("0", "--main-gpu", "-mg")
		return args
	}
	unless("layer", "--split-mode", "-sm")
	if parts := llamaSplit(d, at); parts != "" {
		unless(parts, "--tensor-split", "-ts")
	}
	return args
}

// llamaSplit is each device's part, by the memory that it has. Empty: all have the
// same, or one does not say, and the engine finds its own way.
func llamaSplit(d protocol.DesiredShard, at protocol.Launch) string {
	parts := make([]string, len(d.Devices))
	same := true
	for i, s := range d.Devices {
		dev, _ := deviceAt(at, s)
		if dev.MemoryMB <= 0 {
			return ""
		}
		parts[i] = strconv.FormatInt(dev.MemoryMB>>10, 10)
		same = same && parts[i] == parts[0]
	}
	if same {
		return ""
	}
	return strings.Join(parts, ",")
}
