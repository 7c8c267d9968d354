package discovery

import (
	"context"
	"fmt"
	"strings"

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

// showPort is a port as a line of text.
func showPort(p inventory.Port) string {
	s := fmt.Sprintf("%s/%d %s", p.HCA, p.Port, strings.Join(words(p.State, p.PhysState, p.LinkLayer), " "))
	if p.RateGbps > 0 {
		s += fmt.Sprintf(", %d Gb/s", p.RateGbps)
	}
	if p.MTU > 0 {
		s += fmt.Sprintf(", MTU %d", p.MTU)
	}
	for _, more := range words(p.Physical, p.PCI, p.SMError) {
		s += ", " + more
	}
	return s
}

// showIMEX is the state of IMEX as a line of text. Empty: it is not here.
func showIMEX(f inventory.Facts) string {
	switch {
	case f.IMEXChannels == nil:
		return f.IMEX
	case f.IMEX == "":
		return fmt.Sprintf("not installed, %d channels", *f.IMEXChannels)
	}
	return fmt.Sprintf("%s, %d channels", f.IMEX, *f.IMEXChannels)
}
