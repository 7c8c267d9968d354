package simengine

import (
	"errors"
	"log/slog"
	"net"
)

// Config is what an engine is made of.
type Config struct {
	// Models are the names it serves under; at least one.
	Models []string
	// Adapters are names of adapters. An adapter answers with its own name, so that it shows which one ran.
	Adapters []string
	// Root is what /v1/models gives as the place of the weights; empty means the first model's name.
	Root string
	// APIKey is needed on every path but /health; empty lets everybody in.
	APIKey string
	// AsVLLM makes it behave as vLLM does where engines differ: the key is asked for under /v1 alone, and what is not there
	// is told in vLLM's words.
	AsVLLM bool
	// FixedAdapters says that adapters cannot be changed while it runs.
	FixedAdapters bool
	// Version is what it gives as its version. Empty: "simulated".
	Version string
	// Temper is how it behaves.
	Temper Temper
	// Seed chooses which requests fail.
	Seed uint64

	// Addr is where Run listens when there is no Listener, such as "127.0.0.1:8000".
	Addr string
	// Listener is where Run serves; nil makes one of Addr.
	Listener net.Listener
	// OnExit is told the code when the engine ends; nil tells nobody. It is called once, from any goroutine.
	OnExit func(code int)
	// Logger takes what a real engine would write to its log; nil is silent.
	Logger *slog.Logger
}

func (c Config) validate() error {
	var errs []error
	if len(c.Models) == 0 {
		errs = append(errs, errors.New("simengine: no model; name at least one"))
	}
	for _, name := range append(append([]string{}, c.Models...), c.Adapters...) {
		if name == "" {
			errs = append(errs, errors.New("simengine: a model or an adapter has an empty name"))
		}
	}
	return errors.Join(append(errs, c.Temper.Validate())...)
}
