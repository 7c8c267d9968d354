package placement

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// query is one profile's question to every host, with all that does not depend
// on the host worked out beforehand. It looks at one host at a time.
type query struct {
	placer  Placer
	model   *catalog.Model
	profile *catalog.Profile
	avoid   map[inventory.NodeID]string
	apart   []catalog.Name
	speeds  *Speeds
	labels  []string // keys of the profile's labels, in order
	need    need
	weights weights

	// brief says that nobody reads a refusal's numbers.
	brief bool

	// kinds is how far each kind of device gets: see reach.
	kinds []step

	land   *landscape
	stands *standing
	// h is the host it looks at, at its place in the landscape. missing is
	// -1 until the weights that it lacks are counted, and tally is valid when
	// counted says so: several filters and the score ask for both.
	h       *host
	at      int
	missing int64
	counted bool
	tally   tally
	buf     []int64
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

func newQuery(p Placer, req Request, profile *catalog.Profile) *query {
	return &query{
		placer: p, model: req.Model, profile: profile, avoid: req.Avoid, apart: req.Apart, speeds: req.Speeds,
		labels: slices.Sorted(maps.Keys(profile.Labels)),
		need:   needOf(profile),
		weights: weights{
			files: req.Model.Files,
			// A file's source is the node's own disk: nothing is brought there.
			local: strings.HasPrefix(req.Model.Source, "file:"),
		},
	}
}

// in puts the question to a landscape, where a model's replicas stand already.
func (q *query) in(land *landscape, stands *standing) *query {
	q.land, q.stands = land, stands
	return q
}

// see turns to a host by its place.
func (q *query) see(at int) {
	q.h, q.at, q.missing, q.counted = &q.land.hosts[at], at, -1, false
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

// devices counts the host's devices for this query.
func (q *query) devices() *tally {
	if !q.counted {
		q.count()
		q.counted = true
	}
	return &q.tally
}

// lacks is how many bytes of weights the host would have to be brought.
func (q *query) lacks() int64 {
	if q.missing < 0 {
		q.missing = q.weights.missing(q.h.node)
	}
	return q.missing
}

// spot is the room on a host that every filter let pass.
func (q *query) spot() Spot {
	return Spot{
		Node: q.h.node.ID, NodeVersion: q.h.node.Version,
		Devices:  q.take(),
		MemoryMB: q.need.memoryMB, Cores: q.need.cores, DiskMB: q.diskMB(),
	}
}
