package discovery

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// gpus of this build are none: it has no binding to a driver. Cards that are on
// the bus all the same are named in a warning, so that nobody looks for the
// reason elsewhere.
func (p *Prober) gpus(_ context.Context, f *inventory.Facts) error {
	cards := 0
	vendors, _ := filepath.Glob(p.sys("bus/pci/devices/*/vendor"))
	for _, path := range vendors {
		vendor, _ := read(path)
		class, _ := read(filepath.Join(filepath.Dir(path), "class"))
		if vendor == "0x10de" && (strings.HasPrefix(class, "0x0302") || strings.HasPrefix(class, "0x0300")) {
			cards++
		}
	}
	if cards > 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("%d NVIDIA GPUs are on the bus and are not used: this build of the agent does not read them", cards))
	}
	return nil
}

// gpuSensors of this build are none.
func (p *Prober) gpuSensors(context.Context) []inventory.GPUSensor { return nil }
