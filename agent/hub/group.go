package hub

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// Ports at which the shards of replicas on several nodes find each other, two for
// each: below those of engines, and outside of those that systems hand out.
const (
	firstGroupPort = 19000
	groupPorts     = 500
)

// joinGroup tells one shard of several how it finds the others.
func joinGroup(d *protocol.DesiredShard, r *reconciler.Replica, s reconciler.Shard, fleet *inventory.Snapshot) {
	d.LeaderAddr = leaderAddr(r, fleet)
	d.LeaderPort = groupPort(r.ID)
	nodes := make([]*inventory.Node, 0, len(r.Shards))
	for _, other := range r.Shards {
		n := fleet.Node(other.Spot.Node)
		if n == nil {
			return
		}
		nodes = append(nodes, n)
	}
	d.HCAs = portsOn(fleet.Node(s.Spot.Node), sharedFabric(nodes, r.Profile.Fabric))
}

// groupPort is made of the replica's number, which rises and is never used twice:
// replicas that run at once have the same only when 500 were made between them, and
// who finds it taken fails, so that the next one has another.
func groupPort(id reconciler.ReplicaID) int {
	number := string(id[strings.LastIndex(string(id), "-")+1:])
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return firstGroupPort
	}
	return firstGroupPort + 2*int(n%groupPorts)
}

// sharedFabric is the network that all nodes are on, and over which the traffic of
// their devices goes: of several the one with the most ports on the node that has
// the fewest. wanted is the profile's: a declared name, "any", or empty. Networks
// with one declared name are one fabric, as the rails of one are.
func sharedFabric(nodes []*inventory.Node, wanted string) []string {
	counts := map[string]int{} // by key, the fewest active ports of a node
	names := map[string]string{}
	for i, n := range nodes {
		here := map[string]int{}
		for j := range n.Facts.Ports {
			if key := fabricKey(&n.Facts.Ports[j]); key != "" {
				here[key]++
			}
		}
		for _, f := range n.Fabrics() {
			if f.Name != "" {
				names[f.Key] = f.Name
			}
		}
		if i == 0 {
			counts = here
			continue
		}
		for key := range counts {
			counts[key] = min(counts[key], here[key])
		}
	}
	byFabric := map[string][]string{}
	total := map[string]int{}
	for key, ports := range counts {
		name := names[key]
		if ports == 0 || wanted != "" && wanted != "any" && name != wanted {
			continue
		}
		if name == "" {
			name = key
		}
		byFabric[name] = append(byFabric[name], key)
		total[name] += ports
	}
	best := ""
	for name := range total {
		if best == "" || cmp.Or(cmp.Compare(total[name], total[best]), strings.Compare(best, name)) > 0 {
			best = name
		}
	}
	return byFabric[best]
}

// fabricKey is the network that a port's traffic may take, as inventory.Fabric
// calls it. Empty: it is down, or on none that is known.
func fabricKey(p *inventory.Port) string {
	if !p.Active {
		return ""
	}
	return p.ReachKey()
}

// portsOn are a node's ports on some networks, in order.
func portsOn(n *inventory.Node, keys []string) []string {
	if n == nil || len(keys) == 0 {
		return nil
	}
	var out []string
	for i := range n.Facts.Ports {
		if p := &n.Facts.Ports[i]; p.HCA != "" && slices.Contains(keys, fabricKey(p)) {
			out = append(out, fmt.Sprintf("%s:%d", p.HCA, max(1, p.Port)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// leaderAddr is where rank 0 runs. Empty: its node has not said.
func leaderAddr(r *reconciler.Replica, fleet *inventory.Snapshot) string {
	for _, s := range r.Shards {
		if s.Rank != 0 {
			continue
		}
		n := fleet.Node(s.Spot.Node)
		if n == nil {
			return ""
		}
		if a, err := netip.ParseAddr(n.Facts.MgmtAddr); err == nil && !a.IsUnspecified() {
			return n.Facts.MgmtAddr
		}
	}
	return ""
}
