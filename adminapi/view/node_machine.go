package view

import (
	"time"

	"llmgw.io/llmgw/inventory"
)

// disksOf are the file systems that weights may stand on.
func disksOf(f *inventory.Facts) []Disk {
	var out []Disk
	for _, d := range f.Disks {
		out = append(out, Disk{
			Mount: d.Mount, Source: d.Source, Type: d.Type, Shared: d.Shared,
			FreeGB: d.FreeMB / mibPerGiB, TotalGB: d.TotalMB / mibPerGiB,
		})
	}
	return out
}

// provisionOf are builds of engines that are wanted, under way or failed.
func provisionOf(f *inventory.Facts) []EngineInstall {
	var out []EngineInstall
	for _, e := range f.Provision {
		out = append(out, EngineInstall{
			Engine: e.Engine, Build: e.Build, Version: e.Version, State: string(e.State), Percent: e.Percent, Error: e.Error,
			Since: e.Since.UTC().Format(time.RFC3339),
		})
	}
	return out
}
