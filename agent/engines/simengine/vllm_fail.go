package simengine

import (
	"fmt"
	"os"
	"strings"
)

// Ways in which the engine fails to start as vLLM, for --start-failure, each with
// what vLLM says then. The general line at its end says nothing of the cause.
var vllmFailures = map[string][]string{
	"memory":       {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free."},
	"utilization":  {"ValueError: Free memory on device (31.44/47.38 GiB) on startup is less than desired GPU memory utilization (0.95, 45.01 GiB)."},
	"context":      {"ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (9.12 GiB)."},
	"driver":       {"RuntimeError: The NVIDIA driver on your system is too old (found version 12020)."},
	"kernel":       {"RuntimeError: CUDA error: no kernel image is available for execution on the device"},
	"device":       {"RuntimeError: Failed to infer device type"},
	"nccl":         {"RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"},
	"architecture": {"pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig", "  Value error, Model architectures ['FancyForCausalLM'] are not supported for now."},
	"files":        {"OSError: /w/chat does not appear to have a file named config.json. Checkout the repository for available files."},
	"silent":       {},
}

const vllmNoCore = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"

// lastWords are what it says when it cannot start: as it was told to fail, or
// because it was shown a device by a name that its version does not read. Nil: it
// starts.
func (v *vllm) lastWords() []string {
	if how := v.flags.values["start-failure"]; how != "" {
		words, known := vllmFailures[how]
		if !known {
			words = []string{fmt.Sprintf("simengine: --start-failure %s is no way to fail", how)}
		}
		return append(append([]string{}, words...), vllmNoCore)
	}
	for device := range strings.SplitSeq(os.Getenv(vllmDevicesVariable), ",") {
		named := strings.HasPrefix(device, "MIG-") || strings.HasPrefix(device, "GPU-")
		if named && v.version.before(vllmVersion{0, 24}) {
			return []string{
				fmt.Sprintf("ValueError: invalid literal for int() with base 10: '%s'", device),
				"pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
				"  Value error, Model architectures ['LlamaForCausalLM'] failed to be inspected. Please check the logs for more details.",
				vllmNoCore,
			}
		}
	}
	return nil
}
