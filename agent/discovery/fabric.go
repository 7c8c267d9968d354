package discovery

import (
	"context"

	"llmgw.io/llmgw/agent/discovery/ports"
	"llmgw.io/llmgw/inventory"
)

// newPorts makes what reads ports, on the machine whose roots the rest reads too.
func newPorts(cfg Config) (*ports.Reader, error) {
	c := cfg.Ports
	if c.Sys == "" {
		c.Sys = cfg.Sys
	}
	if c.Proc == "" {
		c.Proc = cfg.Proc
	}
	return ports.New(c)
}

// Fabric is what walks the fabrics that this machine is on. It may be called
// while facts are found.
func (p *Prober) Fabric() *ports.Reader { return p.fabric }

func (p *Prober) ports(ctx context.Context, f *inventory.Facts) error {
	list, warnings, err := p.fabric.Ports(ctx)
	f.Ports, f.Warnings = list, append(f.Warnings, warnings...)
	return err
}

func (p *Prober) imex(ctx context.Context, f *inventory.Facts) error {
	state, channels, warnings := p.fabric.IMEX(ctx)
	f.IMEX, f.IMEXChannels, f.Warnings = state, channels, append(f.Warnings, warnings...)
	return nil
}
