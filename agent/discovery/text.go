package discovery

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"llmgw.io/llmgw/inventory"
)

// PrintJSON writes facts and a sample as JSON for programs: {"facts", "sample"},
// each as it travels to the control plane.
func PrintJSON(w io.Writer, f inventory.Facts, s inventory.Sample) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Facts  inventory.Facts  `json:"facts"`
		Sample inventory.Sample `json:"sample"`
	}{f, s})
}

// Print writes facts and a sample as text for people.
func Print(w io.Writer, f inventory.Facts, s inventory.Sample) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		v := strings.TrimSpace(fmt.Sprintf(format, args...))
		if v == "" {
			v = "not known"
		}
		fmt.Fprintf(t, "%s\t%s\n", name, v)
	}
	line("host", "%s", f.Hostname)
	line("address", "%s", f.MgmtAddr)
	line("agent", "%s", f.AgentVersion)
	line("system", "%s", f.OS)
	line("kernel", "%s %s", f.Kernel, f.Arch)
	line("boot", "%s", f.BootID)
	line("processors", "%s", reserved(int64(f.CPUs), int64(f.ReserveCPUs), ""))
	line("memory", "%s", reserved(f.MemoryMB, f.ReserveMB, " MiB"))
	line("disk", "%s", disk(f))
	printList(line, "label", slices.Sorted(maps.Keys(f.Labels)), func(k string) string { return k + "=" + f.Labels[k] })
	printList(line, "GPU", f.Devices, func(d inventory.Device) string {
		return strings.TrimSpace(fmt.Sprintf("%s %s %s, %d MiB %s", d.Label, d.Class, d.Name, d.MemoryMB, d.Problem))
	})
	printList(line, "port", f.Ports, showPort)
	if imex := showIMEX(f); imex != "" {
		line("IMEX", "%s", imex)
	}
	printList(line, "engine", f.Engines, func(e inventory.Engine) string { return strings.Join(words(e.Name, e.Build, e.Version), " ") })
	printList(line, "weights", f.Weights, func(x inventory.Weight) string { return fmt.Sprintf("%s, %d bytes", x.Path, x.Bytes) })
	printSample(line, s)
	printList(line, "warning", f.Warnings, func(x string) string { return x })
	return t.Flush()
}

func printSample(line func(name, format string, args ...any), s inventory.Sample) {
	line("load", "%.2f %.2f %.2f", s.Load1, s.Load5, s.Load15)
	if s.CPUPercent > 0 { // a first sample does not say
		line("busy", "%.0f %% of the processors", s.CPUPercent)
	}
	if s.MemoryTotalBytes > 0 {
		line("memory used", "%d of %d MiB", s.MemoryUsedBytes>>20, s.MemoryTotalBytes>>20)
	}
	for _, x := range []struct {
		name, unit string
		v          *float64
	}{{"CPU temperature", "°C", s.CPUTempC}, {"CPU power", "W", s.CPUPowerW}, {"inlet temperature", "°C", s.InletTempC}} {
		if x.v != nil {
			line(x.name, "%.1f %s", *x.v, x.unit)
		}
	}
}

// printList writes a line for each thing, or one that says that there is none or
// that nobody knows.
func printList[T any](line func(name, format string, args ...any), name string, list []T, show func(T) string) {
	switch {
	case list == nil:
		line(name, "none known")
	case len(list) == 0:
		line(name, "none")
	}
	for _, x := range list {
		line(name, "%s", show(x))
	}
}

func reserved(all, kept int64, unit string) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%d%s, %d%s of them kept for the system", all, unit, kept, unit)
}

func disk(f inventory.Facts) string {
	if f.DiskTotalMB == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d MiB free", f.DiskFreeMB, f.DiskTotalMB)
}

func words(list ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}
