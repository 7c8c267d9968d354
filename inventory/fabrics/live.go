package fabrics

import (
	"time"

	"llmgw.io/llmgw/inventory"
)

// Live is what an adapter on the map of a network does now.
type Live struct {
	Node inventory.NodeID
	HCA  string
	// State and PhysState are the link's ("ACTIVE", "LinkUp"), Gbps its rate.
	State, PhysState string
	Gbps             int
	// TxBPS and RxBPS are bits a second, between the last two readings.
	TxBPS, RxBPS float64
	// Errors are the counters of errors that are not zero, since the driver was
	// loaded. Nil: none, or none was read.
	Errors map[string]int64
}

// LiveOf is what the ports of a network do now, by node GUID, which joins them
// with its map: those on it, and those that were before they went down. Ports
// that have no GUID are left out, and so are nodes that are lost. Where an adapter
// is on it with two ports it shows the first that is active, and the traffic and
// errors of both.
func LiveOf(nodes []*inventory.Node, m Memory, key string, now time.Time) map[string]Live {
	out := map[string]Live{}
	shown := map[string]*inventory.Port{}
	for _, n := range nodes {
		if n.Hearing == inventory.Lost {
			continue
		}
		for i := range n.Facts.Ports {
			p := &n.Facts.Ports[i]
			id := Port{n.ID, p.HCA, p.Port}
			if p.NodeGUID == "" || m.networkOf(id, p) != key {
				continue
			}
			l := out[p.NodeGUID]
			if was := shown[p.NodeGUID]; was == nil || !was.Active && p.Active {
				shown[p.NodeGUID] = p
				l.Node, l.HCA, l.State, l.PhysState, l.Gbps = n.ID, p.HCA, p.State, p.PhysState, p.RateGbps
			}
			tx, rx := m.Traffic(id, now)
			l.TxBPS, l.RxBPS = l.TxBPS+tx, l.RxBPS+rx
			l.Errors = sum(l.Errors, counters(n, p))
			out[p.NodeGUID] = l
		}
	}
	return out
}

// counters are a port's newest counters of errors. Nil: none was read.
func counters(n *inventory.Node, p *inventory.Port) map[string]int64 {
	if c := n.Counters(p); c != nil {
		return c.Errors
	}
	return nil
}

func sum(a, b map[string]int64) map[string]int64 {
	if len(b) == 0 {
		return a
	}
	out := make(map[string]int64, len(a)+len(b))
	for _, m := range []map[string]int64{a, b} {
		for name, v := range m {
			out[name] += v
		}
	}
	return out
}
