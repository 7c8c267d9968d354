package fabrics

import (
	"cmp"
	"fmt"

	"llmgw.io/llmgw/inventory/topology"
)

// SlowLinks are the links between switches on a network's map that are slower
// than most of them, as one problem. Ports of nodes are told by themselves. Where
// more than a quarter are slow, they are taken for switches of another
// generation.
func SlowLinks(p *Physical, m *topology.Map) []Problem {
	switches := map[string]string{}
	for _, s := range m.Switches {
		switches[s.GUID] = cmp.Or(s.Name, s.GUID)
	}
	rates, all := map[int]int{}, 0
	var links []topology.Link
	for _, l := range m.Links {
		if switches[l.A.GUID] != "" && switches[l.B.GUID] != "" && l.Gbps > 0 {
			links = append(links, l)
			rates[l.Gbps]++
			all++
		}
	}
	usual := 0
	for rate, n := range rates {
		if n > rates[usual] || n == rates[usual] && rate > usual {
			usual = rate
		}
	}
	var slow []string
	rate := 0
	for _, l := range links {
		if l.Gbps < usual {
			slow = append(slow, fmt.Sprintf("%s port %d and %s port %d", switches[l.A.GUID], l.A.Port, switches[l.B.GUID], l.B.Port))
			rate = max(rate, l.Gbps)
		}
	}
	if len(slow) == 0 || len(slow) > max(1, all/4) {
		return nil
	}
	return []Problem{{Fabric: p.Name(), Kind: Degraded, Text: fmt.Sprintf(
		"Between switches %s run at %d Gb/s, slower than most, which run at %d Gb/s: reseat or change the cable.", few(slow, "; "), rate, usual)}}
}
