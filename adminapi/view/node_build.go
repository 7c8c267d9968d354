package view

import (
	"fmt"
	"math"
	"slices"
	"time"

	"llmgw.io/llmgw/inventory"
)

// NodesOf builds every node, ordered by id.
func NodesOf(w World) []Node {
	out := []Node{}
	for _, n := range w.nodes() {
		out = append(out, NodeOf(w, n))
	}
	return out
}

// NodeOf builds one node.
func NodeOf(w World, n *inventory.Node) Node {
	f := &n.Facts
	v := Node{
		ID: string(n.ID), Hostname: f.Hostname, MgmtAddr: f.MgmtAddr, State: string(n.State()),
		Labels: n.Labels(), OperatorLabels: n.Settings.Labels,
		MemoryGB: gib(f.MemoryMB), CPUCount: f.CPUs, DiskFreeGB: diskFree(n, w.Now), DiskTotalGB: gib(f.DiskTotalMB),
		OS: f.OS, Warnings: nodeWarnings(n), AgentVersion: f.AgentVersion, Upgrade: UpgradeOf(f.Upgrade), Features: f.Features,
		LastSeenAgo: ago(n.LastSeen, w.Now), Replicas: replicasOn(n),
		Location: locationOf(n), Load: loadOf(n, w.Now), EngineBuilds: buildsOf(n, w.Stored),
		NVLinkDomain: n.NVLinkDomain(), IMEX: f.IMEX, IMEXChannels: f.IMEXChannels,
		Driver: f.Driver, CUDA: f.CUDA, Disks: disksOf(f), Provision: provisionOf(f), Prefetch: prefetchedOn(f),
	}
	if n.Held.Yes() {
		v.Held, v.HeldDomain = n.Held.Reason, n.Held.Domain.String()
	}
	v.Engines, v.Installed = enginesOf(f)
	v.ModelsOnDisk = weightsOf(f)
	v.addDevices(n, w.Now)
	v.addPorts(n, w.Now)
	return v
}

// nodeWarnings are the agent's own, and what the control plane sees of its clock.
func nodeWarnings(n *inventory.Node) []string {
	side := "ahead of"
	if n.ClockSkew < 0 {
		side = "behind"
	}
	off := n.ClockSkew.Abs().Truncate(time.Second)
	var clock string
	switch n.Clock() {
	case inventory.ClockGood:
		return n.Facts.Warnings
	case inventory.ClockOff:
		clock = fmt.Sprintf("its clock is %s %s the control plane's; set it", off, side)
	case inventory.ClockWrong:
		clock = fmt.Sprintf("its clock is %s %s the control plane's, so nothing new is placed there; set it", off, side)
	}
	return append(slices.Clone(n.Facts.Warnings), clock)
}

// ago is how long ago something was, in whole seconds; empty for never.
func ago(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return max(0, now.Sub(at)).Truncate(time.Second).String()
}

func replicasOn(n *inventory.Node) int {
	seen := map[string]bool{}
	for _, a := range n.Allocations {
		seen[a.Replica] = true
	}
	return len(seen)
}

// diskFree takes the newer of the measurement and the fact.
func diskFree(n *inventory.Node, now time.Time) *int64 {
	if fresh(n, now) && n.Sample.DiskFreeBytes > 0 {
		v := n.Sample.DiskFreeBytes >> 30
		return &v
	}
	return gib(n.Facts.DiskFreeMB)
}

func locationOf(n *inventory.Node) *Location {
	l := Location{
		Site: n.Domain(inventory.LevelSite), Room: n.Domain(inventory.LevelRoom), Row: n.Domain(inventory.LevelRow),
		Rack: n.Domain(inventory.LevelRack), PDU: n.Domain(inventory.LevelPDU),
	}
	if l == (Location{}) {
		return nil
	}
	return &l
}

// enginesOf keeps the difference between none (empty) and not said (nil).
func enginesOf(f *inventory.Facts) ([]string, []Installed) {
	if f.Engines == nil {
		return nil, nil
	}
	names, installed := []string{}, []Installed{}
	for _, e := range f.Engines {
		names = append(names, e.Name)
		installed = append(installed, Installed{Name: e.Name, Build: e.Build, Version: e.Version})
	}
	slices.Sort(names)
	return slices.Compact(names), installed
}

func weightsOf(f *inventory.Facts) []string {
	if f.Weights == nil {
		return nil
	}
	out := []string{}
	for _, x := range f.Weights {
		out = append(out, x.Path)
	}
	slices.Sort(out)
	return out
}

// buildsOf is shown on nodes with devices only: elsewhere there is one build.
func buildsOf(n *inventory.Node, stored bool) map[string]string {
	if len(n.Facts.Devices) == 0 || !stored {
		return nil
	}
	return n.WantedBuilds()
}

func loadOf(n *inventory.Node, now time.Time) *Load {
	if !fresh(n, now) {
		return nil
	}
	s := n.Sample
	v := &Load{
		CPUPercent: s.CPUPercent, CPUs: n.Facts.CPUs, Load1: s.Load1, Load5: s.Load5, Load15: s.Load15,
		MemoryUsedBytes: s.MemoryUsedBytes, MemoryTotalBytes: s.MemoryTotalBytes,
		AgeSeconds: seconds(now.Sub(n.SampleAt)),
		CPUTempC:   s.CPUTempC, CPUPowerW: s.CPUPowerW, InletTempC: s.InletTempC, GPUSensors: s.GPUs,
	}
	if s.MemoryTotalBytes > 0 {
		v.MemoryPercent = round1(100 * float64(s.MemoryUsedBytes) / float64(s.MemoryTotalBytes))
	}
	return v
}

func round1(v float64) float64 { return math.Round(v*10) / 10 }

// addDevices fills everything that comes from the list of devices.
func (v *Node) addDevices(n *inventory.Node, now time.Time) {
	used := map[int]bool{}
	for _, a := range n.Allocations {
		for _, d := range a.Devices {
			used[d.Index] = true
		}
	}
	for _, d := range n.Facts.Devices {
		v.GPUs = append(v.GPUs, gpuOf(n, d, now))
		c := v.class(d)
		c.Total++
		v.GPUTotal++
		switch {
		case !d.Healthy():
			c.Unhealthy++
			v.UnhealthyGPUs = append(v.UnhealthyGPUs, "gpu "+d.Label+": "+d.Problem)
		case !used[d.Index]:
			c.Free++
			v.GPUFree++
		}
	}
}

// class finds or adds the count of a device's class.
func (v *Node) class(d inventory.Device) *ClassGPUs {
	for i := range v.GPUsByClass {
		if v.GPUsByClass[i].Class == string(d.Class) {
			return &v.GPUsByClass[i]
		}
	}
	v.GPUClasses = append(v.GPUClasses, string(d.Class))
	v.GPUsByClass = append(v.GPUsByClass, ClassGPUs{Class: string(d.Class), MIG: d.MIG()})
	return &v.GPUsByClass[len(v.GPUsByClass)-1]
}

func gpuOf(n *inventory.Node, d inventory.Device, now time.Time) GPU {
	v := GPU{
		Index: d.Index, Name: d.Name, Label: d.Label, Class: string(d.Class), Card: d.Card, MIGProfile: d.MIGProfile,
		MemoryTotalMB: d.MemoryMB, ComputeCapability: d.ComputeCapability, NUMA: d.NUMA, PCIRoot: d.PCIRoot, NVLinkPeers: d.NVLinkPeers,
		NearestNIC: d.NearestNIC, NICPath: d.NICPath, FabricState: d.FabricState, Domain: d.Domain, Bandwidth: d.Bandwidth,
	}
	// An instance does not measure what it uses; its card's sum would mislead.
	if fresh(n, now) && !d.MIG() {
		for _, s := range n.Sample.GPUs {
			if s.Card == d.Card {
				v.MemoryUsedMB = s.MemoryUsedMB
			}
		}
	}
	return v
}

func (v *Node) addPorts(n *inventory.Node, now time.Time) {
	for i := range n.Facts.Ports {
		p := &n.Facts.Ports[i]
		v.IBPorts = append(v.IBPorts, portOf(n, p, now))
		if p.Fabric != "" {
			v.Fabrics = append(v.Fabrics, p.Fabric)
		}
	}
	slices.Sort(v.Fabrics)
	v.Fabrics = slices.Compact(v.Fabrics)
}
