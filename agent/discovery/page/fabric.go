package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// fabric says which networks the ports are on and who manages them, how devices
// reach each other, and whether machines can share memory.
func (p *sheet) fabric(f inventory.Facts) {
	p.section("FABRIC", "")
	if len(f.Ports) > 0 {
		p.networks(f.Ports)
		p.out.WriteByte('\n')
	}
	var rows [][2]string
	if len(f.Devices) > 0 {
		rows = append(rows, [2]string{"NVLink", links(f.Devices)})
	}
	if d := domains(f.Devices); d != "" {
		rows = append(rows, [2]string{"GPU fabric", d})
	}
	p.pairs(append(rows, [2]string{"IMEX", imex(f)})...)
}

// networks is a table of those the ports are on. Ports of which it is not known
// are together by the reason.
func (p *sheet) networks(ports []inventory.Port) {
	type network struct {
		ports    []string
		manager  string
		physical string
	}
	all := map[string]*network{}
	for _, x := range ports {
		manager := orElse(managed(x), x.SMError)
		if manager == "" && !x.Active && x.Physical == "" {
			manager = "the port is not up"
		}
		key := x.Physical
		if key == "" {
			key = "\U0010ffff" + manager // behind those that are known
		}
		n := all[key]
		if n == nil {
			n = &network{physical: orElse(x.Physical, unknown)}
			all[key] = n
		}
		n.manager = orElse(n.manager, manager)
		n.ports = append(n.ports, fmt.Sprintf("%s/%d", x.HCA, x.Port))
	}
	var rows [][]string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		n := all[key]
		rows = append(rows, []string{n.physical, names(n.ports), n.manager})
	}
	p.table([]string{"NETWORK", "PORTS", "MANAGER"}, rows)
}

// managed is who manages a port's fabric. Empty: none is known.
func managed(x inventory.Port) string {
	if x.SM == nil {
		return ""
	}
	s := fmt.Sprintf("%s, LID %d, priority %d", x.SM.State, x.SM.LID, x.SM.Priority)
	standing := 0
	for _, m := range x.SMs {
		if m.GUID != x.SM.GUID {
			standing++
		}
	}
	if standing > 0 {
		s += fmt.Sprintf("; %d more", standing)
	}
	return s
}

// names are the first and the number of many, or all of few.
func names(list []string) string {
	if len(list) <= 3 {
		return strings.Join(list, " ")
	}
	return fmt.Sprintf("%d: %s to %s", len(list), list[0], list[len(list)-1])
}

// links says how devices reach each other over NVLink.
func links(devices []inventory.Device) string {
	var each []string
	cards, whole := 0, true
	for _, d := range devices {
		if d.MIG() {
			continue
		}
		cards++
		if len(d.NVLinkPeers) > 0 {
			each = append(each, fmt.Sprintf("%d to %s", d.Index, strings.Trim(fmt.Sprint(d.NVLinkPeers), "[]")))
		}
	}
	for _, d := range devices {
		whole = whole && (d.MIG() || len(d.NVLinkPeers) == cards-1)
	}
	switch {
	case len(each) == 0:
		return "none"
	case whole:
		return fmt.Sprintf("each of %d devices reaches all others", cards)
	}
	return strings.Join(each, ", ")
}

// domains says how the devices stand in their GPU fabric. Empty: there is none.
func domains(devices []inventory.Device) string {
	count := map[string]int{}
	for _, d := range devices {
		if d.FabricState == "" && d.Domain == "" {
			continue
		}
		s := orElse(d.FabricState, unknown)
		if d.Domain != "" {
			s += ", domain " + d.Domain
		}
		if d.Bandwidth != "" {
			s += ", " + d.Bandwidth + " bandwidth"
		}
		count[s]++
	}
	var all []string
	for _, s := range slices.Sorted(maps.Keys(count)) {
		noun := "devices"
		if count[s] == 1 {
			noun = "device"
		}
		all = append(all, fmt.Sprintf("%d %s %s", count[s], noun, s))
	}
	return strings.Join(all, "; ")
}

func imex(f inventory.Facts) string {
	s := orElse(f.IMEX, "not here, or it did not say")
	if f.IMEXChannels != nil {
		s += fmt.Sprintf(", channels: %d", *f.IMEXChannels)
	}
	return s
}
