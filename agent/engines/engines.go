package engines

import (
	"context"
	"log/slog"

	"llmgw.io/llmgw/inventory"
)

// Config says where engines are. The zero value looks for llama-server and vllm
// on the PATH and has no simulated engine.
type Config struct {
	// LlamaServer is the path of llama-server. Empty: it is looked up on the PATH.
	LlamaServer string
	// VLLM are paths of programs vllm, one for each build. Empty: it is looked up on
	// the PATH.
	VLLM []string
	// SimEngine is the program that has the command sim-engine, which is the
	// agent's own. Empty: the simulated engine counts as not installed.
	SimEngine string
	// SimVersion is what the simulated engine gives as its version. May be empty.
	SimVersion string
	// Logger nil is silent.
	Logger *slog.Logger
}

// Set is a driver for each engine there is.
type Set struct {
	LlamaCPP *LlamaCPP
	VLLM     *VLLM
	Sim      *Sim
}

// New makes the drivers. Whether an engine is there shows later, in Installed:
// one may be installed while the agent runs.
func New(cfg Config) *Set {
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := newClient()
	return &Set{
		LlamaCPP: &LlamaCPP{client: c, program: program{given: cfg.LlamaServer, name: "llama-server", log: log}},
		VLLM:     newVLLM(c, cfg.VLLM, log),
		Sim:      &Sim{client: c, path: cfg.SimEngine, version: cfg.SimVersion},
	}
}

// Installed lists the builds of all engines on this machine. It is never nil.
func (s *Set) Installed(ctx context.Context) []inventory.Engine {
	all := []inventory.Engine{}
	all = append(all, s.LlamaCPP.Installed(ctx)...)
	all = append(all, s.VLLM.Installed(ctx)...)
	return append(all, s.Sim.Installed(ctx)...)
}
