package catalog

import (
	"slices"
	"strings"
)

// Why a flag or a variable may not be set by a definition.
const (
	whyAddress  = "llmgw chooses where engines listen"
	whySecret   = "llmgw gives every engine a key of its own"
	whyName     = "llmgw sets what is served, and under which name"
	whyShape    = "say it by the profile's gpu, shards and parallel sizes"
	whyContext  = "say it by the profile's context"
	whySlots    = "say it by the profile's slots"
	whyThreads  = "say it by the profile's cpu_cores"
	whyAdapters = "say it by the model's adapters"
	whyMemory   = "llmgw sets it from the profile's reservation"
	whyOpen     = "it would open the engine, or the node, to whoever can send it a request"
	whyProcess  = "llmgw steers and watches the engine by it"
	whyFabric   = "llmgw sets it from the fabric that the shards share"
	whyLoader   = "it would change which program runs"
	whyToken    = "a definition is shown to everyone who may read it; it is no place for a secret"
)

// llamaFlags are llama-server's flags that llmgw sets itself, or that open it.
// Its parser knows no abbreviations.
var llamaFlags = map[string]string{
	"--port": whyAddress, "--host": whyAddress, "--reuse-port": whyAddress, "--path": whyOpen,
	"--api-prefix": whyAddress, "--api-key": whySecret, "--api-key-file": whySecret,
	"--ssl-key-file": whyAddress, "--ssl-cert-file": whyAddress, "--cors-origins": whyOpen,
	"-m": whyName, "--model": whyName, "-a": whyName, "--alias": whyName,
	"-mu": whyName, "--model-url": whyName, "-dr": whyName, "--docker-repo": whyName,
	"-hf": whyName, "-hfr": whyName, "--hf-repo": whyName, "-hff": whyName, "--hf-file": whyName,
	"-hft": whyToken, "--hf-token": whyToken,
	"--models-dir": whyName, "--models-max": whyName, "--models-preset": whyName, "--models-autoload": whyName,
	"-c": whyContext, "--ctx-size": whyContext, "-np": whySlots, "--parallel": whySlots,
	"-t": whyThreads, "--threads": whyThreads, "-tb": whyThreads, "--threads-batch": whyThreads,
	"--threads-http": whyThreads, "-cram": whyMemory, "--cache-ram": whyMemory,
	"--lora": whyAdapters, "--lora-scaled": whyAdapters, "--lora-init-without-apply": whyAdapters,
	"--metrics": whyProcess, "--slots": whyProcess, "--no-slots": whyProcess, "--props": whyOpen,
	"--sse-ping-interval": whyProcess, "--sleep-idle-seconds": whyProcess, "--log-disable": whyProcess,
	"--log-file": whyProcess, "--slot-save-path": whyOpen, "--media-path": whyOpen, "--rpc": whyOpen,
	"--tools": whyOpen, "--tools-runtime": whyOpen, "--agent": whyOpen, "-ag": whyOpen, "--webui-mcp-proxy": whyOpen,
	"--ui-mcp-proxy": whyOpen, "--mcp-servers-config": whyOpen, "--mcp-servers-json": whyOpen, "--ui-config-file": whyOpen,
	"-mm": whyName, "--mmproj": whyName, "-mmu": whyName, "--mmproj-url": whyName,
	"--log-jsonl": whyProcess, "-lv": whyProcess, "-dev": whyShape, "--device": whyShape,
}

// vllmFlags are vLLM's. Its parser takes abbreviations and underscores.
var vllmFlags = map[string]string{
	"--port": whyAddress, "--host": whyAddress, "--uds": whyAddress, "--root-path": whyAddress,
	"--ssl-keyfile": whyAddress, "--ssl-certfile": whyAddress, "--ssl-ca-certs": whyAddress,
	"--api-key": whySecret, "--model": whyName, "--served-model-name": whyName, "--config": whyName,
	"--revision": whyName, "--code-revision": whyName, "--hf-token": whyToken, "--download-dir": whyName,
	"--max-model-len": whyContext, "--max-num-seqs": whySlots,
	"--tensor-parallel-size": whyShape, "-tp": whyShape, "--pipeline-parallel-size": whyShape, "-pp": whyShape,
	"--data-parallel-size": whyShape, "-dp": whyShape, "--data-parallel-size-local": whyShape, "-dpl": whyShape,
	"--data-parallel-rank": whyShape, "--data-parallel-start-rank": whyShape, "--data-parallel-address": whyShape,
	"--data-parallel-rpc-port": whyShape, "--data-parallel-backend": whyShape, "--data-parallel-hybrid-lb": whyShape,
	"--distributed-executor-backend": whyShape, "--nnodes": whyShape, "--node-rank": whyShape,
	"--master-addr": whyShape, "--master-port": whyShape, "--headless": whyShape,
	"--enable-lora": whyAdapters, "--lora-modules": whyAdapters,
	"--trust-remote-code": whyOpen, "--allowed-local-media-path": whyOpen, "--allowed-origins": whyOpen,
	"--allow-credentials": whyOpen, "--middleware": whyOpen, "--worker-extension-cls": whyOpen,
	"--worker-cls": whyOpen, "--tool-parser-plugin": whyOpen, "--reasoning-parser-plugin": whyOpen,
	"--logits-processors": whyOpen, "--enable-sleep-mode": whyProcess, "--shutdown-timeout": whyProcess,
	"--kv-events-config": whyProcess, "--enable-prompt-tokens-details": whyProcess, "--disable-log-stats": whyProcess,
	"--disable-uvicorn-access-log": whyProcess, "--disable-access-log-for-endpoints": whyProcess, "--uvicorn-log-level": whyProcess,
	"--api-server-count": whyShape, "-r": whyShape, "-n": whyShape, "--grpc": whyAddress,
	"--data-parallel-external-lb": whyShape, "--data-parallel-multi-port-external-lb": whyShape,
	"--enable-tokenizer-info-endpoint": whyOpen,
}

// vllmAllowed are flags of vLLM that only read like the beginning of one above.
var vllmAllowed = []string{"--reasoning-parser"}

// simFlags are the simulated engine's.
var simFlags = map[string]string{
	"--port": whyAddress, "--host": whyAddress, "--api-key": whySecret, "--api-key-file": whySecret,
	"--model": whyName, "--served-model-name": whyName, "--max-model-len": whyContext, "--max-num-seqs": whySlots,
	"--lora-modules": whyAdapters, "--config": whyOpen,
}

// ReservedArg says why an argument may not be set by a definition, in any of
// its spellings ("--port=1", "--served_model_name", "--serv"). Empty: it may.
func ReservedArg(e Engine, arg string) string {
	flag := arg
	if i := strings.IndexAny(arg, "= \t"); i >= 0 {
		flag = arg[:i]
	}
	if !strings.HasPrefix(flag, "-") {
		return ""
	}
	switch e {
	case EngineLlamaCPP:
		return reserved(llamaFlags, flag, false)
	case EngineVLLM, EngineSGLang:
		return reserved(vllmFlags, flag, true)
	case EngineSim:
		// Go's flag package takes one dash for two.
		return reserved(simFlags, "--"+strings.TrimLeft(flag, "-"), false)
	}
	return ""
}

// reserved looks a flag up; with abbreviations, also as the beginning of one.
func reserved(table map[string]string, flag string, abbreviations bool) string {
	flag = strings.ReplaceAll(flag, "_", "-")
	lower := flag
	if strings.HasPrefix(flag, "--") { // short flags mean other things in capitals
		lower = strings.ToLower(flag)
	}
	if why, ok := table[lower]; ok {
		return why
	}
	if abbreviations && slices.Contains(vllmAllowed, lower) {
		return ""
	}
	// Short flags may have their value glued on: "-tp8".
	for _, f := range sortedKeys(table) {
		short := !strings.HasPrefix(f, "--")
		if short && abbreviations && strings.HasPrefix(lower, f) && digits(lower[len(f):]) {
			return table[f]
		}
		if !short && abbreviations && len(lower) > len("--") && strings.HasPrefix(f, lower) {
			return table[f]
		}
	}
	return ""
}

// reservedEnv are variables that llmgw sets itself or that would change which
// program runs, by name or by beginning (ending in *).
var reservedEnv = []struct{ name, why string }{
	{"LLAMA_ARG_*", "every flag of llama-server can be set by it; use args, which are checked"},
	{"LLAMA_API_KEY", whySecret},
	{"VLLM_API_KEY", whySecret},
	{"SIM_API_KEY", whySecret},
	{"HF_TOKEN", whyToken},
	{"HUGGING_FACE_HUB_TOKEN", whyToken},
	{"CUDA_VISIBLE_DEVICES", whyShape},
	{"CUDA_DEVICE_ORDER", whyShape},
	{"NVIDIA_VISIBLE_DEVICES", whyShape},
	{"HIP_VISIBLE_DEVICES", whyShape},
	{"ROCR_VISIBLE_DEVICES", whyShape},
	{"GGML_VK_VISIBLE_DEVICES", whyShape},
	{"ZE_AFFINITY_MASK", whyShape},
	{"VLLM_HOST_IP", whyAddress},
	{"VLLM_PORT", whyAddress},
	{"VLLM_SERVER_DEV_MODE", whyOpen},
	{"VLLM_ALLOW_RUNTIME_LORA_UPDATING", whyOpen},
	{"VLLM_ALLOW_INSECURE_SERIALIZATION", whyOpen},
	{"VLLM_PLUGINS", whyOpen},
	{"NCCL_IB_HCA", whyFabric},
	{"NCCL_SOCKET_IFNAME", whyFabric},
	{"GLOO_SOCKET_IFNAME", whyFabric},
	{"OMP_NUM_THREADS", whyThreads},
	{"OMP_WAIT_POLICY", whyThreads},
	{"LD_*", whyLoader},
	{"GLIBC_TUNABLES", whyLoader},
	{"PYTHONPATH", whyLoader},
	{"PYTHONHOME", whyLoader},
	{"PYTHONSTARTUP", whyLoader},
	{"BASH_ENV", whyLoader},
	{"ENV", whyLoader},
	{"PATH", whyLoader},
	{"HOME", whyProcess},
	{"TMPDIR", whyProcess},
}

// ReservedEnv says why a variable may not be set by a definition. Empty: it may.
func ReservedEnv(name string) string {
	upper := strings.ToUpper(name)
	for _, r := range reservedEnv {
		if prefix, wild := strings.CutSuffix(r.name, "*"); upper == r.name || wild && strings.HasPrefix(upper, prefix) {
			return r.why
		}
	}
	return ""
}

func checkArgs(c *complaints, field string, p *Profile) {
	for i, a := range p.Args {
		f := at(field+".args", i)
		if strings.ContainsRune(a, 0) {
			c.add(f, "an argument may not hold a NUL byte")
		}
		if why := ReservedArg(p.Engine, a); why != "" {
			flag, _, _ := strings.Cut(a, "=")
			c.add(f, "%s may not be set here: %s", flag, why)
		}
	}
}

func checkEnv(c *complaints, field string, p *Profile) {
	for _, k := range sortedKeys(p.Env) {
		f := field + ".env"
		switch why := ReservedEnv(k); {
		case why != "":
			c.add(f, "%s may not be set here: %s", k, why)
		case !isVariable(k):
			c.add(f, "%q cannot name a variable; use letters, digits and _", k)
		case strings.ContainsRune(p.Env[k], 0):
			c.add(f, "the value of %s may not hold a NUL byte", k)
		}
	}
}

func isVariable(s string) bool {
	return s != "" && !digits(s[:1]) && !slices.ContainsFunc([]byte(s), func(b byte) bool { return !alphanumeric(b) && b != '_' })
}
