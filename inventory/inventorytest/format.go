package inventorytest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// Format writes a fleet as Parse reads it: its holds, then a node a line,
// ordered by id. What the form cannot say (sensors, versions, the operators' own labels apart
// from the agent's) is left out.
func Format(fleet *inventory.Snapshot) string {
	var b strings.Builder
	for _, h := range fleet.Holds() {
		b.WriteString(holdText(h))
	}
	for _, n := range fleet.Nodes() {
		b.WriteString(string(n.ID))
		for _, w := range slices.Concat(deviceWords(n), hostWords(n), labelWords(n), stateWords(n), allocWords(n)) {
			b.WriteString("  " + w)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func deviceWords(n *inventory.Node) []string {
	ds := n.Facts.Devices
	var cards, instances []string
	for i := 0; i < len(ds); {
		j := i
		for j < len(ds) && ds[j].Class == ds[i].Class && (!ds[i].MIG() || ds[j].Card == ds[i].Card) {
			j++
		}
		if ds[i].MIG() {
			instances = append(instances, fmt.Sprintf("%d:%dx%s", ds[i].Card, j-i, ds[i].MIGProfile))
		} else {
			cards = append(cards, fmt.Sprintf("%dx%s", j-i, ds[i].Class))
		}
		i = j
	}
	out := joined("gpu=", cards, "+")
	out = append(out, joined("mig=", instances, "+")...)
	if len(ds) > 0 && ds[0].ComputeCapability != "" {
		out = append(out, "cc="+ds[0].ComputeCapability)
	}
	var ill []int
	var others []string
	for _, d := range ds {
		if !d.Healthy() {
			ill = append(ill, d.Index)
		}
		if d.ForeignMB > 0 {
			others = append(others, fmt.Sprintf("%d:%s", d.Index, sizeText(d.ForeignMB)))
		}
	}
	if len(ill) > 0 {
		out = append(out, "unhealthy="+indexText(ill))
	}
	out = append(out, joined("foreign=", others, "+")...)
	out = append(out, joined("nvlink=", linkGroups(ds), "|")...)
	out = append(out, joined("numa=", groups(ds, func(d inventory.Device, at int) bool { return d.NUMA == at }), "|")...)
	out = append(out, joined("pci=", groups(ds, func(d inventory.Device, at int) bool { return d.PCIRoot == pciRoot(at) }), "|")...)
	if len(ds) > 0 && ds[0].Domain != "" {
		out = append(out, "nvl="+ds[0].Domain)
	}
	return append(out, joined("nic=", adapterGroups(ds), "|")...)
}

// adapterGroups are devices by nearest adapter, in the order of the adapters'
// numbers. A group has the path of its first device.
func adapterGroups(ds []inventory.Device) []string {
	var out []string
	for at := 0; ; at++ {
		var group []int
		rank := ""
		for _, d := range ds {
			if d.NearestNIC == "mlx5_"+strconv.Itoa(at) {
				group = append(group, d.Index)
				rank = d.NICPath
			}
		}
		if group == nil {
			return out
		}
		w := indexText(group)
		if rank != "" {
			w += ":" + rank
		}
		out = append(out, w)
	}
}

func linkGroups(ds []inventory.Device) []string {
	var out []string
	for _, d := range ds {
		if len(d.NVLinkPeers) > 0 && d.Index < d.NVLinkPeers[0] {
			out = append(out, indexText(append([]int{d.Index}, d.NVLinkPeers...)))
		}
	}
	return out
}

// groups are the devices of the first group, the second, up to one that has none.
func groups(ds []inventory.Device, is func(d inventory.Device, at int) bool) []string {
	var out []string
	for at := 0; ; at++ {
		var group []int
		for _, d := range ds {
			if is(d, at) {
				group = append(group, d.Index)
			}
		}
		if group == nil {
			return out
		}
		out = append(out, indexText(group))
	}
}

func hostWords(n *inventory.Node) []string {
	f := &n.Facts
	var out []string
	if f.MemoryMB > 0 {
		out = append(out, "mem="+sizeText(f.MemoryMB))
	}
	if f.CPUs > 0 {
		out = append(out, "cpu="+strconv.Itoa(f.CPUs))
	}
	if f.ReserveMB > 0 || f.ReserveCPUs > 0 {
		out = append(out, fmt.Sprintf("reserve=%s/%d", sizeText(f.ReserveMB), f.ReserveCPUs))
	}
	if f.DiskFreeMB > 0 || f.DiskTotalMB > 0 {
		out = append(out, fmt.Sprintf("disk=%s/%s", sizeText(f.DiskFreeMB), sizeText(f.DiskTotalMB)))
		if f.DiskTotalMB == 0 {
			out[len(out)-1] = "disk=" + sizeText(f.DiskFreeMB)
		}
	}
	var es, ws []string
	for _, e := range f.Engines {
		if e.Build != "" {
			e.Name += ":" + e.Build
		}
		es = append(es, e.Name)
	}
	for _, w := range f.Weights {
		ws = append(ws, w.Path+":"+sizeText(w.Bytes>>20))
	}
	if f.Engines != nil {
		out = append(out, listed("engines=", es))
	}
	if f.Weights != nil {
		out = append(out, listed("weights=", ws))
	}
	var ports []string
	for _, p := range f.Ports {
		w := p.Fabric
		if p.Physical != "" {
			w += "@" + p.Physical
		}
		ports = append(ports, w)
	}
	out = append(out, joined("fabric=", ports, "+")...)
	if c := f.IMEXChannels; c != nil {
		out = append(out, fmt.Sprintf("imex=%s/%d", f.IMEX, *c))
	} else if f.IMEX != "" {
		out = append(out, "imex="+f.IMEX)
	}
	return out
}

func labelWords(n *inventory.Node) []string {
	var out []string
	labels := n.Labels()
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		short, ours := strings.CutPrefix(k, inventory.LabelPrefix)
		if l := inventory.Level(short); ours && (short == "pool" || l != inventory.LevelNode && l.Valid()) {
			out = append(out, short+"="+labels[k])
		} else {
			out = append(out, "label."+k+"="+labels[k])
		}
	}
	return out
}

func stateWords(n *inventory.Node) []string {
	var out []string
	if n.Settings.Wish != inventory.WishReady {
		out = append(out, string(n.Settings.Wish))
	}
	if n.Hearing != inventory.Heard {
		out = append(out, string(n.Hearing))
	}
	if n.ClockSkew != 0 {
		out = append(out, "skew="+n.ClockSkew.String())
	}
	return out
}

func allocWords(n *inventory.Node) []string {
	var out []string
	for _, a := range n.Allocations {
		w := fmt.Sprintf("alloc=%s:%s:%s", a.Shard, a.Model, shareText(a.Devices))
		if a.MemoryMB > 0 {
			w += ":mem=" + sizeText(a.MemoryMB)
		}
		if a.Cores > 0 {
			w += ":cpu=" + strconv.Itoa(a.Cores)
		}
		if a.DiskMB > 0 {
			w += ":disk=" + sizeText(a.DiskMB)
		}
		out = append(out, w)
	}
	return out
}

func shareText(shares []inventory.DeviceShare) string {
	if len(shares) == 0 {
		return "-"
	}
	at := make([]int, len(shares))
	for i, s := range shares {
		at[i] = s.Index
	}
	if mb := shares[0].MemoryMB; mb > 0 {
		return indexText(at) + "@" + sizeText(mb)
	}
	return indexText(at)
}

// indexText writes ordered indexes as ranges: 0-3,5.
func indexText(at []int) string {
	slices.Sort(at)
	var out []string
	for i := 0; i < len(at); {
		j := i
		for j+1 < len(at) && at[j+1] == at[j]+1 {
			j++
		}
		if j > i {
			out = append(out, fmt.Sprintf("%d-%d", at[i], at[j]))
		} else {
			out = append(out, strconv.Itoa(at[i]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}

func sizeText(mb int64) string {
	if mb%1024 == 0 {
		return strconv.FormatInt(mb/1024, 10)
	}
	return strconv.FormatInt(mb, 10) + "M"
}

func joined(key string, parts []string, by string) []string {
	if len(parts) == 0 {
		return nil
	}
	return []string{key + strings.Join(parts, by)}
}

func listed(key string, parts []string) string {
	if len(parts) == 0 {
		return key + "none"
	}
	return key + strings.Join(parts, "+")
}
