package placement

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// query is one profile's question to every node, with all that does not depend
// on the node worked out beforehand. It lives as long as one look at the fleet.
type query struct {
	placer  Placer
	model   *catalog.Model
	profile *catalog.Profile
	avoid   map[inventory.NodeID]string
	labels  []string // keys of the profile's labels, in order
	need    need
	stands  standing
	weights weights
	// tally is of node; it is kept because several filters and the score ask.
	tally tally
	node  *inventory.Node
}

// need is what one shard asks of a node.
type need struct {
	memoryMB int64
	cores    int
	diskMB   int64 // beside the weights
	// devices is how many; zero asks for none, and the rest means nothing.
	devices  int
	class    inventory.Class // empty: any
	deviceMB int64           // of each device; zero: any
	shared   bool
	// capability is the least compute capability; zero: any.
	capability int
}

func newQuery(p Placer, world *inventory.Snapshot, req Request, profile *catalog.Profile) *query {
	return &query{
		placer: p, model: req.Model, profile: profile, avoid: req.Avoid,
		labels: slices.Sorted(maps.Keys(profile.Labels)),
		need:   needOf(profile),
		stands: standingOf(world, req.Model.Name, profile.Spread),
		weights: weights{
			files: req.Model.Files,
			// A file's source is the node's own disk: nothing is brought there.
			local: strings.HasPrefix(req.Model.Source, "file:"),
		},
	}
}

func needOf(p *catalog.Profile) need {
	n := need{memoryMB: int64(p.MemoryGB) << 10, cores: p.CPUCores, diskMB: int64(p.DiskGB) << 10}
	if p.GPU == nil {
		return n
	}
	n.devices, n.class = max(0, p.GPU.Count), p.GPU.Class
	n.deviceMB = int64(p.GPU.MemoryGB) << 10
	// A share of no memory would be the whole device, so it is asked for as such.
	if n.shared = p.GPU.Shared && n.deviceMB > 0; n.shared {
		n.devices = 1
	}
	n.capability, _ = capability(p.GPU.ComputeCapability)
	return n
}

// capability reads "9.0" as a number that orders; known is false for what is
// not of that form.
func capability(v string) (n int, known bool) {
	if v == "" {
		return 0, false // the usual case, without the cost of an error
	}
	major, minor, _ := strings.Cut(v, ".")
	a, err := strconv.Atoi(major)
	if err != nil {
		return 0, false
	}
	b, err := strconv.Atoi(minor)
	if err != nil && minor != "" {
		return 0, false
	}
	return a*1000 + b, true
}

// devices counts the node's devices for this query.
func (q *query) devices(n *inventory.Node) *tally {
	if q.node != n {
		q.node, q.tally = n, q.count(n)
	}
	return &q.tally
}

// spot is the room on a node that every filter let pass.
func (q *query) spot(n *inventory.Node) Spot {
	return Spot{
		Node: n.ID, NodeVersion: n.Version,
		Devices:  q.take(n),
		MemoryMB: q.need.memoryMB, Cores: q.need.cores, DiskMB: q.diskMB(n),
	}
}
