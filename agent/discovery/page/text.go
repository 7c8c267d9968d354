package page

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// mostWeights is how many files of weights the page names; the JSON has all.
const mostWeights = 12

// JSON writes facts and a sample for programs: {"facts", "sample"}, each as it
// travels to the control plane.
func JSON(w io.Writer, f inventory.Facts, s inventory.Sample) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Facts  inventory.Facts  `json:"facts"`
		Sample inventory.Sample `json:"sample"`
	}{f, s})
}

// Text writes facts and a sample for people.
func Text(w io.Writer, f inventory.Facts, s inventory.Sample) error {
	var p sheet
	p.host(f, s)
	p.processors(f, s)
	p.memory(f, s)
	p.disks(f)
	p.devices(f, s)
	p.ports(f, s)
	p.fabric(f)
	p.engines(f)
	p.weights(f)
	p.section("WARNINGS", "")
	if len(f.Warnings) == 0 {
		p.line("none")
	}
	for _, x := range f.Warnings {
		p.line("- " + x)
	}
	return p.writeTo(w)
}

func (p *sheet) host(f inventory.Facts, s inventory.Sample) {
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(f.Labels)) {
		labels = append(labels, k+"="+f.Labels[k])
	}
	rows := [][2]string{
		{"name", f.Hostname},
		{"address", f.MgmtAddr},
		{"system", f.OS},
		{"kernel", joined(f.Kernel, f.Arch)},
		{"virtual", orElse(f.Virtual, "no, or it does not say")},
		{"boot", f.BootID},
		{"agent", f.AgentVersion},
		{"labels", orElse(strings.Join(labels, ", "), "none")},
	}
	if s.InletTempC != nil {
		rows = append(rows, [2]string{"inlet", said(s.InletTempC, "%.0f °C")})
	}
	p.section("HOST", "")
	p.pairs(rows...)
}

func (p *sheet) processors(f inventory.Facts, s inventory.Sample) {
	cores := ""
	if f.CPUs > 0 {
		cores = fmt.Sprint(f.CPUs) + counted(f.ReserveCPUs, ", %d of them kept for the system")
	}
	flags := strings.Join(f.CPUFlags, " ")
	if f.CPUFlags != nil {
		flags = orElse(flags, "none that engines ask for")
	}
	load := fmt.Sprintf("%.2f %.2f %.2f", s.Load1, s.Load5, s.Load15)
	if s.CPUPercent > 0 {
		load += fmt.Sprintf(", %.0f %% busy", s.CPUPercent)
	}
	p.section("CPU", "")
	p.pairs([2]string{"processors", cores}, [2]string{"flags", flags}, [2]string{"load", load},
		[2]string{"temperature", orElse(said(s.CPUTempC, "%.0f °C"), "not measured here")},
		[2]string{"power", orElse(said(s.CPUPowerW, "%.0f W"), "not measured here, or root's to read")})
}

func (p *sheet) memory(f inventory.Facts, s inventory.Sample) {
	total, used := "", ""
	if f.MemoryMB > 0 {
		total = fmt.Sprintf("%s, %s of it kept for the system", size(f.MemoryMB), size(f.ReserveMB))
	}
	if s.MemoryTotalBytes > 0 {
		used = size(s.MemoryUsedBytes >> 20)
	}
	p.section("MEMORY", "")
	p.pairs([2]string{"total", total}, [2]string{"used", used})
}

func (p *sheet) disks(f inventory.Facts) {
	note := ""
	if f.DiskTotalMB > 0 {
		note = fmt.Sprintf("for weights: %s of %s free, local", size(f.DiskFreeMB), size(f.DiskTotalMB))
	}
	p.section("DISKS", note)
	list(p, f.Disks, func(all []inventory.Disk) {
		var rows [][]string
		for _, d := range all {
			whose := "local"
			if d.Shared {
				whose = "shared"
			}
			rows = append(rows, []string{d.Mount, d.Source, d.Type, whose, size(d.FreeMB), size(d.TotalMB)})
		}
		p.table([]string{"MOUNT", "SOURCE", "TYPE", "WHOSE", "FREE", "TOTAL"}, rows)
	})
}

func (p *sheet) devices(f inventory.Facts, s inventory.Sample) {
	note := ""
	if f.Driver != "" {
		note = "driver " + f.Driver
		if f.CUDA != "" {
			note += ", CUDA " + f.CUDA
		}
	}
	sensors := map[int]inventory.GPUSensor{}
	for _, g := range s.GPUs {
		sensors[g.Card] = g
	}
	p.section("DEVICES", note)
	list(p, f.Devices, func(all []inventory.Device) {
		var rows [][]string
		for _, d := range all {
			g := sensors[d.Card]
			rows = append(rows, []string{
				d.Label, string(d.Class), d.Name, sizeOr(d.MemoryMB), sizeOr(d.ForeignMB), numa(d.NUMA), d.PCI, joined(d.NearestNIC, d.NICPath),
				said(g.TempC, "%.0f °C"), said(g.PowerW, "%.0f W"), orElse(d.Problem, "ok"),
			})
		}
		p.table([]string{"GPU", "CLASS", "NAME", "MEMORY", "FOREIGN", "NUMA", "PCI", "NIC", "TEMP", "POWER", "STATE"}, rows)
	})
}

func (p *sheet) ports(f inventory.Facts, s inventory.Sample) {
	wrong := map[string]string{}
	for _, c := range s.Ports {
		var all []string
		for _, k := range slices.Sorted(maps.Keys(c.Errors)) {
			all = append(all, fmt.Sprintf("%s %d", k, c.Errors[k]))
		}
		wrong[fmt.Sprintf("%s/%d", c.HCA, c.Port)] = strings.Join(all, ", ")
	}
	p.section("ADAPTER PORTS", "")
	list(p, f.Ports, func(all []inventory.Port) {
		var rows [][]string
		for _, x := range all {
			name := fmt.Sprintf("%s/%d", x.HCA, x.Port)
			node := -1
			if x.NUMA != nil {
				node = *x.NUMA
			}
			rows = append(rows, []string{
				name, joined(x.State, x.PhysState), x.LinkLayer, counted(x.RateGbps, "%d Gb/s"), counted(x.MTU, "%d"),
				numa(node), x.PCI, joined(x.Interface, x.Network), wrong[name],
			})
		}
		p.table([]string{"PORT", "STATE", "LINK", "RATE", "MTU", "NUMA", "PCI", "NETWORK", "ERRORS"}, rows)
	})
}

func (p *sheet) engines(f inventory.Facts) {
	p.section("ENGINES", "")
	list(p, f.Engines, func(all []inventory.Engine) {
		var rows [][]string
		for _, e := range all {
			rows = append(rows, []string{e.Name, e.Build, e.Version})
		}
		p.table([]string{"ENGINE", "BUILD", "VERSION"}, rows)
	})
}

func (p *sheet) weights(f inventory.Facts) {
	var sum int64
	for _, w := range f.Weights {
		sum += w.Bytes
	}
	note := ""
	if len(f.Weights) > 0 {
		note = fmt.Sprintf("%d files, %s", len(f.Weights), size(sum>>20))
	}
	p.section("WEIGHTS", note)
	list(p, f.Weights, func(all []inventory.Weight) {
		var rows [][]string
		for _, w := range all[:min(len(all), mostWeights)] {
			rows = append(rows, []string{size(w.Bytes >> 20), w.Path})
		}
		p.columns(rows)
		if more := len(all) - mostWeights; more > 0 {
			p.line(fmt.Sprintf("and %d more; --json names them all", more))
		}
	})
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func sizeOr(mib int64) string {
	if mib == 0 {
		return ""
	}
	return size(mib)
}

func counted(n int, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

func numa(n int) string {
	if n < 0 {
		return ""
	}
	return fmt.Sprint(n)
}
