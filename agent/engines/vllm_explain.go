package engines

import "llmgw.io/llmgw/agent/protocol"

// vllmRules know vLLM's errors. The order matters: its last line says in each case
// that the engine core failed, and the cause stands above it, among what follows
// from it.
var vllmRules = makeRules([][3]string{
	{
		`\[Errno 98\].*|[Aa]ddress already in use`, string(protocol.CausePort),
		"nothing can listen on the engine's port, or on that of its shards: it is taken; the next start takes another port",
	},
	{
		`\[Errno 99\]|[Cc]annot assign requested address`, string(protocol.CausePort),
		"the engine's address is not this machine's; correct mgmt_addr in the agent's configuration",
	},

	{
		`vllm(?: serve)?: error: unrecognized arguments: (.+)`, string(protocol.CauseFlag),
		"vLLM does not know the argument $1; correct the profile's args, or install a build that knows it",
	},
	{
		`vllm(?: serve)?: error: (.+)`, string(protocol.CauseFlag),
		"vLLM refuses its arguments ($1); correct the profile's args",
	},

	{
		`invalid literal for int\(\) with base 10: '((?:MIG|GPU)-[^']*)'`, string(protocol.CauseEngine),
		"this build of vLLM takes devices by number only and not as $1; install 0.24 or newer to use instances of partitioned cards",
	},
	{
		`(libcudart\.so\.\d+|libcuda\.so\.\d+|lib[a-z]+\.so\.\d+): cannot open shared object file`, string(protocol.CauseEngine),
		"vLLM lacks the library $1 on this node; install the build that goes with the node's driver",
	},
	{
		`ModuleNotFoundError: No module named '([^']+)'`, string(protocol.CauseEngine),
		"vLLM lacks the Python package $1; install the engine again, as one piece",
	},
	{
		`no kernel image is available`, string(protocol.CauseCUDA),
		"this build of vLLM has no code for this GPU; install one that has",
	},
	{
		`The NVIDIA driver on your system is too old|CUDA driver version is insufficient|PTX .*unsupported toolchain|forward compatibility was attempted on non supported HW`, string(protocol.CauseCUDA),
		"this build of vLLM needs a newer NVIDIA driver than this node has; upgrade the driver, or install a build for an older CUDA",
	},

	{
		`Free memory on device.*\(([\d.]+)/([\d.]+) GiB\).*less than desired GPU memory utilization`, string(protocol.CauseMemory),
		"only $1 of $2 GiB of the device are free, since another program uses the rest; stop it, or lower --gpu-memory-utilization",
	},
	{
		`To serve at least one request with the models's max seq len \((\d+)\),? \(?([\d.]+ GiB) KV cache is needed`, string(protocol.CauseMemory),
		"one request of $1 tokens needs $2 for its context, and there is less; lower context, or use more or larger devices",
	},
	{
		`No available memory for the cache blocks`, string(protocol.CauseMemory),
		"the weights leave no room for contexts; use more or larger devices, or a smaller model",
	},
	{
		`CUDA out of memory|torch\.OutOfMemoryError|CUDA error: out of memory|cudaErrorMemoryAllocation`, string(protocol.CauseMemory),
		"the model does not fit into the devices' memory; use more or larger devices, or lower context or slots",
	},
	{
		`^MemoryError|Cannot allocate memory|No space left on device: '/dev/shm`, string(protocol.CauseMemory),
		"the host's memory does not suffice for vLLM; raise the profile's min_memory_gb, or look at the room in /dev/shm",
	},

	{
		`LoRA rank (\d+) is greater than max_lora_rank (\d+)`, string(protocol.CauseFlag),
		"an adapter has rank $1 and vLLM was told $2 at most; give --max-lora-rank $1 in the profile's args",
	},
	{
		`No adapter found for (\S+)|Loading lora (\S+) failed`, string(protocol.CauseFile),
		"the adapter $1$2 cannot be loaded; it needs adapter_config.json beside its weights",
	},
	{
		`\[Errno 2\] No such file or directory: '([^']+)'`, string(protocol.CauseFile),
		"vLLM does not find $1; name all files of the model in its source",
	},
	{
		`(\S+) does not appear to have a file named (\S+?)\.?(?: |$)`, string(protocol.CauseFile),
		"the model's folder $1 lacks $2; name all files of the model in its source",
	},
	{
		"Cannot find any model weights with [`'\"]?([^`'\"]+)", string(protocol.CauseFile),
		"the folder $1 holds no weights; name all files of the model in its source",
	},
	{
		`Incorrect path_or_model_id: '([^']+)'|Repo id must be in the form.*: '([^']+)'`, string(protocol.CauseFile),
		"there is no model at $1$2; check the model's source",
	},
	{
		`SafetensorError|safetensors_rust\.\w+: (.+)|header too large|MetadataIncompleteBuffer|incomplete metadata`, string(protocol.CauseModel),
		"a file of the model's weights is not whole; fetch it again, and give its sha256 so that a broken copy is noticed",
	},
	{
		`Model architectures (\[.+?\]) (?:are not supported|failed to be inspected)`, string(protocol.CauseModel),
		"this vLLM does not know models of architecture $1, or fails to look at them; install a newer build, or take another model",
	},
	{
		`User-specified max_model_len \((\d+)\) is greater than the derived max_model_len \(\S*?(\d+)`, string(protocol.CauseFlag),
		"the profile's context of $1 tokens is more than the $2 that the model was made for; lower it",
	},
	{
		`must be divisible by tensor parallel size \((\d+)\)`, string(protocol.CauseFlag),
		"the model's heads cannot be split over $1 devices; use another tensor_parallel",
	},
	{
		`requires you to execute the configuration file|trust_remote_code=True`, string(protocol.CauseModel),
		"the model brings code of its own, which llmgw does not run; take another model",
	},

	{
		`NCCL error:? (.+)|ncclSystemError: (.+)|ncclUnhandledCudaError: (.+)|DistNetworkError: (.+)|DistStoreError: (.+)`, string(protocol.CauseDriver),
		"the devices, or the shards on other nodes, do not reach each other ($1$2$3$4$5); test the fabric, and look at the other shards' logs",
	},
	{
		`Failed to infer device type|No CUDA GPUs are available|NVML Shared Library Not Found|CUDA driver initialization failed|NVMLError\w*: (.+)`, string(protocol.CauseDriver),
		"vLLM finds no GPU that it can use; look at nvidia-smi on the node",
	},
	{
		`CUDA error: (.+)|AcceleratorError: (.+)`, string(protocol.CauseDriver),
		"the GPU's driver reports an error ($1$2); look at dmesg on the node, and at the GPU's health",
	},

	{
		`Worker proc (\S+) died unexpectedly`, string(protocol.CauseExited),
		"a part of vLLM ($1) died, and the rest ended with it; see its last lines, and the logs of the replica's other shards",
	},
	{
		`EngineDeadError|EngineCore encountered a fatal error|EngineCore encountered an issue`, string(protocol.CauseExited),
		"vLLM's engine died; see its last lines",
	},
	{
		`ValidationError: \d+ validation errors? for (\w+)`, string(protocol.CauseFlag),
		"vLLM refuses how it was configured ($1); see its last lines, and correct the profile",
	},
})
