package engines

import "llmgw.io/llmgw/agent/protocol"

// llamaRules know llama-server's errors. The order matters: it ends every failed
// load with the same general lines, and failed adapters with those of models.
var llamaRules = makeRules([][3]string{
	{
		`couldn't bind HTTP server socket, hostname: (\S+), port: (\d+)`, string(protocol.CausePort),
		"nothing can listen on $1, port $2: it is taken, or the address is not this machine's; the next start takes another port",
	},

	{
		`error: invalid argument: (.+)`, string(protocol.CauseFlag),
		"llama-server does not know the argument $1; correct the profile's args, or install a build that knows it",
	},
	{
		`error while handling argument "(.+?)": (.*)`, string(protocol.CauseFlag),
		"llama-server does not take the argument $1 ($2); correct the profile's args",
	},
	{
		`error: (.*argument has been removed.*)`, string(protocol.CauseFlag),
		"$1; correct the profile's args",
	},

	{
		`error while loading shared libraries: ([^:]+)`, string(protocol.CauseEngine),
		"llama-server lacks the library $1 on this node; install it, or install the engine again",
	},
	{
		`no kernel image is available|unsupported gpu architecture`, string(protocol.CauseCUDA),
		"this build of llama-server has no code for this GPU; install one that has",
	},
	{
		`CUDA driver version is insufficient`, string(protocol.CauseCUDA),
		"this build of llama-server needs a newer NVIDIA driver than this node has; upgrade the driver, or install a build for an older CUDA",
	},

	{
		`mmap failed: Cannot allocate memory|std::bad_alloc|(?i)cuda.*out of memory|ErrorOutOfDeviceMemory`, string(protocol.CauseMemory),
		"the model does not fit into the memory of its shard; reserve more, or lower context or slots",
	},
	{
		`insufficient memory \(attempted to allocate ([\d.]+ MB)\)`, string(protocol.CauseMemory),
		"$1 of memory could not be had; reserve more, or lower context or slots",
	},
	{
		`failed to allocate buffer for kv cache|unable to allocate \S+ buffer|failed to allocate (compute|output|CPU|CUDA)\S* ?buffer`, string(protocol.CauseMemory),
		"there is not enough memory for the model's contexts; reserve more, or lower context or slots",
	},
	{
		`CUDA error: (.+)|failed to initialize CUDA: (.+)`, string(protocol.CauseDriver),
		"the GPU's driver reports an error ($1$2); look at dmesg on the node, and at the GPU's health",
	},

	{
		`lora.*failed to open '(.+)': (.+)`, string(protocol.CauseFile),
		"the adapter file $1 cannot be opened ($2); fetch it again",
	},
	{
		`failed to apply lora adapter: (.+)`, string(protocol.CauseModel),
		"an adapter does not go with the model ($1); use one made for this model",
	},
	{
		`failed to load lora adapter '(.+)'`, string(protocol.CauseModel),
		"the adapter $1 cannot be loaded; use a GGUF adapter made for this model",
	},

	{
		`failed to open GGUF file '(.+)' \((.+)\)`, string(protocol.CauseFile),
		"the file $1 cannot be opened ($2); check the model's source",
	},
	{
		`failed to load GGUF split from (.+)|(missing split.*)`, string(protocol.CauseFile),
		"a part of the model's file is missing ($1$2); name all of its parts in the model's source",
	},
	{
		`is not within the file bounds|model is corrupted or incomplete`, string(protocol.CauseModel),
		"the model's file is not whole; fetch it again, and give its sha256 so that a broken copy is noticed",
	},
	{
		`invalid magic characters|failed to read magic`, string(protocol.CauseModel),
		"the model's file is no GGUF file; check the model's source",
	},
	{
		`GGUF file is version (\d+) but`, string(protocol.CauseModel),
		"the model's file is GGUF version $1, which this llama-server does not read; install a newer build, or convert the file",
	},
	{
		`gguf_init_from_\S+: failed to read (.+)`, string(protocol.CauseModel),
		"the header of the model's file cannot be read ($1); fetch it again",
	},
	{
		`unknown model architecture: '(.+)'`, string(protocol.CauseModel),
		"this llama-server does not know models of architecture $1; install a newer build, or take another model",
	},
	{
		`key not found in model: (\S+)`, string(protocol.CauseModel),
		"the model's file lacks $1: it is not a model (an adapter or a projector, perhaps), or was converted by a tool that is too old",
	},
	{
		`error loading model: (.+)`, string(protocol.CauseModel),
		"the model cannot be loaded ($1); check the model's source",
	},
	{
		`failed to load model,? '(.+)'`, string(protocol.CauseModel),
		"the model's file $1 cannot be loaded; see the last lines",
	},
})
