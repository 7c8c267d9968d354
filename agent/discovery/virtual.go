package discovery

import (
	"context"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// hypervisors are makers as firmware names them, and what people call what they
// make. On amd64 the processor says whether there is one; elsewhere a maker that
// makes nothing else does.
var hypervisors = map[string]string{
	"QEMU":                  "QEMU",
	"VMware, Inc.":          "VMware",
	"innotek GmbH":          "VirtualBox",
	"Xen":                   "Xen",
	"Microsoft Corporation": "Hyper-V",
	"Parallels":             "Parallels",
}

// alsoHardware are those makers whose machines may be real.
var alsoHardware = []string{"Microsoft Corporation"}

// unnamed is a hypervisor that does not say whose it is.
const unnamed = "unnamed"

// virtual finds the hypervisor and warns about it: processors are shared with
// others, so that the machine is slower at times than it measures at others.
func (p *Prober) virtual(_ context.Context, f *inventory.Facts) error {
	vendor, _ := readWord(p.sys("class/dmi/id/sys_vendor"))
	product, _ := readWord(p.sys("class/dmi/id/product_name"))
	is := false
	if f.Arch == "amd64" {
		flags, err := p.cpuinfo()
		if err != nil {
			return err
		}
		is = slices.Contains(flags, "hypervisor")
	} else {
		// No other architecture says it in a flag.
		_, known := hypervisors[vendor]
		is = known && !slices.Contains(alsoHardware, vendor) || strings.Contains(product, "Virtual Machine")
	}
	if !is {
		return nil
	}
	by := ""
	if f.Virtual = unnamed; vendor != "" {
		by = " (" + vendor + ")"
		if f.Virtual = hypervisors[vendor]; f.Virtual == "" {
			f.Virtual = vendor
		}
	}
	f.Warnings = append(f.Warnings, "the machine is virtual"+by+": its processors may be shared with others, and its speed may vary")
	return nil
}
