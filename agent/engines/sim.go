package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Sim drives the simulated engine, a command of the agent's own program. [New]
// makes one.
type Sim struct {
	client        *client
	path, version string
}

// Name is the engine's name in profiles.
func (s *Sim) Name() catalog.Engine { return catalog.EngineSim }

// Installed lists the simulated engine where its program is there.
func (s *Sim) Installed(context.Context) []inventory.Engine {
	if s.path == "" {
		return nil
	}
	if _, err := os.Stat(s.path); err != nil {
		return nil
	}
	return []inventory.Engine{{Name: string(s.Name()), Version: s.version}}
}

// Command is the simulated engine's command line for a shard. It needs no
// weights; given some, it shows where they are.
func (s *Sim) Command(d protocol.DesiredShard, at protocol.Launch) (protocol.Command, error) {
	if s.path == "" {
		return protocol.Command{}, errors.Join(checkLaunch(d, at), fmt.Errorf("%s: this agent has no simulated engine", about(d)))
	}
	if err := checkLaunch(d, at); err != nil {
		return protocol.Command{}, err
	}
	root := string(d.Model)
	if len(at.Weights) > 0 {
		root = at.Weights[0]
	}
	args := []string{"sim-engine", "--model", root, "--served-model-name", string(d.Model), "--host", at.Host, "--port", strconv.Itoa(at.Port)}
	if d.Context > 0 {
		args = append(args, "--max-model-len", strconv.Itoa(d.Context))
	}
	if d.Slots > 0 {
		args = append(args, "--max-num-seqs", strconv.Itoa(d.Slots))
	}
	for _, a := range at.Adapters {
		args = append(args, "--lora-modules", a.Name+"="+a.Path)
	}
	return protocol.Command{
		Path: s.path,
		Args: append(args, d.Args...),
		Env:  environment(d, at, "SIM_API_KEY="+d.EngineKey),
	}, nil
}

// Ready asks whether the engine at e is ours and generates.
func (s *Sim) Ready(ctx context.Context, e protocol.Endpoint) error {
	return s.client.ready(ctx, e)
}

// Use asks for the load. The simulated engine measures under vLLM's names.
func (s *Sim) Use(ctx context.Context, e protocol.Endpoint) (protocol.Use, error) {
	return s.client.use(ctx, e, vllmNames)
}

// Generated is how many tokens the engine has generated since it started.
func (s *Sim) Generated(ctx context.Context, e protocol.Endpoint) (int64, error) {
	return s.client.generated(ctx, e, vllmNames)
}

// Explain puts the end of a simulated engine into words.
func (s *Sim) Explain(e protocol.Exit) protocol.Failure {
	return explain("the simulated engine", simRules, e)
}

// simRules know the simulated engine's own errors, and those of vLLM, which it
// is told to repeat. The order matters: the cause comes before what follows.
var simRules = makeRules([][3]string{
	{
		`address already in use|cannot assign requested address`, string(protocol.CausePort),
		"nothing can listen on the engine's port: it is taken, or the address is not this machine's; the next start takes another port",
	},
	{
		`(flag provided but not defined: \S+|invalid (?:boolean )?value .+|flag needs an argument: \S+|.+ is no flag; .*)`, string(protocol.CauseFlag),
		"the simulated engine refuses its arguments ($1); correct the profile's args",
	},
	{
		`CUDA out of memory|Free memory on device|To serve at least one request`, string(protocol.CauseMemory),
		"the model does not fit into the device's memory; reserve more, or lower context or slots",
	},
	{
		`no kernel image is available|NVIDIA driver on your system is too old`, string(protocol.CauseCUDA),
		"the engine's build and the node's GPU or driver do not go together; install another build",
	},
	{
		`Model architectures .* are not supported`, string(protocol.CauseModel),
		"the engine does not know models of this architecture; install a newer build, or take another model",
	},
})
