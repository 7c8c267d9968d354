package discovery

import (
	"context"
	"errors"
	"fmt"

	"llmgw.io/llmgw/agent/discovery/gpu"
	"llmgw.io/llmgw/agent/discovery/pcipath"
	"llmgw.io/llmgw/inventory"
)

// errNoGPUs says that nobody reads GPUs here.
var errNoGPUs = errors.New("discovery: nothing reads the GPUs of this machine")

// findCards makes what finds GPUs; nil without a source.
func (p *Prober) findCards() (*gpu.Cards, error) {
	if p.cfg.GPUs == nil {
		return nil, nil
	}
	return gpu.New(gpu.Config{
		Source: p.cfg.GPUs, Heard: p.cfg.GPUEvents, Sys: p.cfg.Sys, Proc: p.cfg.Proc, Foreign: p.cfg.Foreign, Place: p.place,
	})
}

// gpus are the cards and instances. Where nothing reads them those on the bus are
// named in a warning, so that nobody looks for the reason elsewhere.
func (p *Prober) gpus(ctx context.Context, f *inventory.Facts) error {
	if p.cards == nil {
		if n := len(gpu.Bus(p.cfg.Sys, p.cfg.Proc).Cards); n > 0 {
			f.Warnings = append(f.Warnings, fmt.Sprintf("%d NVIDIA GPUs are on the bus and are not used: this agent does not read them", n))
		}
		return nil
	}
	r, err := p.cards.Report(ctx, f.MemoryMB)
	f.Devices, f.Driver, f.CUDA = r.Devices, r.Driver, r.CUDA
	f.Warnings = append(f.Warnings, r.Warnings...)
	return err
}

// place is where a card is on the machine, and its nearest adapter. Where the bus
// does not say, nothing is known.
func (p *Prober) place(pci string) gpu.Place {
	at := gpu.Place{NUMA: -1}
	card, err := pcipath.At(p.cfg.Sys, pci)
	if err != nil {
		return at
	}
	at.NUMA, at.Root = card.NUMA, card.Root()
	adapters, err := pcipath.Adapters(p.cfg.Sys)
	if err != nil {
		return at
	}
	nic, path := pcipath.Nearest(card, adapters)
	at.NIC, at.Path = nic, string(path)
	return at
}

// gpuSensors measure each card.
func (p *Prober) gpuSensors(ctx context.Context) []inventory.GPUSensor {
	if p.cards == nil {
		return nil
	}
	return p.cards.Sensors(ctx)
}

// Used is the memory in MiB that is really used of each device now, by its index,
// whoever uses it. A device that does not say is left out. Unlike the other
// methods it may be called at once with any.
func (p *Prober) Used(ctx context.Context) (map[int]int64, error) {
	if p.cards == nil {
		return nil, errNoGPUs
	}
	return p.cards.Used(ctx)
}
