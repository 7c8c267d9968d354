package fabrics

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/topology"
)

var (
	// ErrUnknown says that there is no such network.
	ErrUnknown = errors.New("fabrics: no such network")
	// ErrNoScanner says that no node on the network can walk it.
	ErrNoScanner = errors.New("fabrics: no node can walk the network")
)

// Scan is the newest map of one network, and how it was made.
type Scan struct {
	// At is when the map was made, By from where ("a1 mlx5_0"), Took how long it
	// took. Zero: it was never made.
	At   time.Time
	By   string
	Took time.Duration
	// Error is why there is no map, or why it is not whole, or not new.
	Error string
	// Map is read only. Nil: there is none.
	Map *topology.Map
}

// Next is the scan after a newer one: a newer one without a map leaves the map
// there is, and says why it is not new.
func (s Scan) Next(newer Scan) Scan {
	if newer.Map != nil || s.Map == nil {
		return newer
	}
	s.Error = "The newest scan, from " + newer.By + " at " + newer.At.UTC().Format(time.RFC3339) + ", failed: " + newer.Error
	return s
}

// Scanners are the ports from which a network can be walked, one a node, the best
// first: those whose manager could be asked come before those where it could not,
// since both take the same rights. Nodes say that they can by a feature.
func Scanners(nodes []*inventory.Node, m Memory, key, feature string) []Port {
	type scanner struct {
		Port
		failing int
	}
	var all []scanner
	for _, n := range nodes {
		if n.Hearing != inventory.Heard || !slices.Contains(n.Facts.Features, feature) {
			continue
		}
		best := scanner{failing: 2}
		for i := range n.Facts.Ports {
			p := &n.Facts.Ports[i]
			id := Port{n.ID, p.HCA, p.Port}
			if !p.Active || p.LinkLayer == ethernet || m.networkOf(id, p) != key {
				continue
			}
			failing := 0
			if p.SMError != "" {
				failing = 1
			}
			if failing < best.failing {
				best = scanner{id, failing}
			}
		}
		if best.failing < 2 {
			all = append(all, best)
		}
	}
	slices.SortFunc(all, func(a, b scanner) int {
		return cmp.Or(cmp.Compare(a.failing, b.failing), cmp.Compare(a.Node, b.Node))
	})
	out := make([]Port, len(all))
	for i, s := range all {
		out[i] = s.Port
	}
	return out
}

// ethernet is the link layer of RoCE ports, whose networks have no manager and
// cannot be walked.
const ethernet = "Ethernet"
