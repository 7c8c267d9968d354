package placement

import (
	"reflect"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Index answers what Choose answers, without looking at every node: it
// remembers what each profile was told by each node, and asks again only those
// that have changed. A question costs what changed since it was last asked.
//
// It is a value that its caller owns and carries from one look to the next; it
// is not safe for use by several goroutines at once. Advance brings it up to a
// snapshot. With and Without try something on top of it, and the next Advance
// forgets that again.
//
// The placer's own filters and scorers may look at the node and what is placed
// there, and at nothing else.
type Index struct {
	placer  Placer
	version uint64
	land    *landscape
	kinds   *kinds
	places  map[inventory.NodeID]int32
	classes map[classKey]*class
	// recent finds a class by its profile's address, which costs less.
	recent map[*catalog.Profile]*class
	models map[catalog.Name]*followed
	// journal is what changed, in order; its first entry has the number first.
	journal []entry
	first   int
	// undo is what a trial has to put back. It is kept while one is open.
	undo   []undone
	trials int

	traces   []ProfileTrace
	repriced []int32
}

// classKey names a profile.
type classKey struct {
	model   catalog.Name
	profile string
}

// followed is a model whose replicas the index keeps count of.
type followed struct {
	model  *catalog.Model
	stands *standing
	// over says that the index counts anew, at other levels.
	over bool
}

// undone is what a host was before a change.
type undone struct {
	at   int32
	node *inventory.Node
	kind change
}

// entry is one change: of a host, or of what it costs to open a domain's.
type entry struct {
	at   int32
	kind change
}

type change uint8

const (
	loadChanged change = iota
	nodeChanged
	priceChanged // at is a domain
)

// NewIndex makes an index of no nodes.
func NewIndex(p Placer) *Index {
	x := &Index{placer: p}
	x.rebuild(nil)
	return x
}

// Placer is the one that the index decides for.
func (x *Index) Placer() Placer { return x.placer }

// SetMix makes the index judge by another mix. One of the same version changes
// nothing; another costs as much as a new index.
func (x *Index) SetMix(m Mix) {
	if m.Version == x.placer.Mix.Version && len(m.Parts) == len(x.placer.Mix.Parts) {
		return
	}
	x.placer.Mix = m
	nodes := make([]*inventory.Node, len(x.land.hosts))
	for i := range nodes {
		nodes[i] = x.land.hosts[i].node
	}
	x.rebuild(nodes)
}

// Advance brings the index up to a snapshot, and forgets what was tried. It
// looks at nodes that are others than before, and no more.
func (x *Index) Advance(world *inventory.Snapshot) {
	x.version = world.Version()
	x.undo, x.trials = x.undo[:0], 0
	nodes := world.Nodes()
	same := len(nodes) == len(x.land.hosts)
	for i := 0; same && i < len(nodes); i++ {
		old := x.land.hosts[i].node
		if same = nodes[i] == old || nodes[i].ID == old.ID; !same || nodes[i] == old {
			continue
		}
		if x.alike(old, nodes[i]) {
			x.land.hosts[i].node = nodes[i]
		} else {
			same = x.land.stands(i, nodes[i])
		}
	}
	if !same {
		x.rebuild(nodes)
		return
	}
	for i, n := range nodes {
		if old := x.land.hosts[i].node; n != old {
			x.put(int32(i), n, kindOf(old, n))
		}
	}
}

// alike reports whether a node brings news that no answer rests on. Filters and
// scorers of an embedder may look at all of it.
func (x *Index) alike(old, n *inventory.Node) bool {
	return len(x.placer.Filters)+len(x.placer.Scorers) == 0 && kindOf(old, n) == loadChanged &&
		(sameSlice(old.Allocations, n.Allocations) || reflect.DeepEqual(old.Allocations, n.Allocations))
}

// sameFacts knows facts of one version that were never taken apart by where they
// lie: a beat is no reason to read them all.
func sameFacts(a, b *inventory.Facts) bool {
	return sameSlice(a.Devices, b.Devices) && sameSlice(a.Weights, b.Weights) && sameSlice(a.Engines, b.Engines) && sameSlice(a.Ports, b.Ports) ||
		reflect.DeepEqual(a, b)
}

// sameSlice reports whether two slices are one.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// kindOf tells how much of a node is another: most beats bring new
// measurements only.
func kindOf(old, n *inventory.Node) change {
	if old.Version == n.Version && old.Hearing == n.Hearing && old.Settings.Wish == n.Settings.Wish &&
		old.Held == n.Held && old.Clock() == n.Clock() && sameFacts(&old.Facts, &n.Facts) {
		return loadChanged
	}
	return nodeChanged
}

// With tries allocations on top of what is known. Those on unknown nodes are
// left out.
func (x *Index) With(as ...inventory.Allocation) {
	for i := range as {
		at, known := x.places[as[i].Node]
		if !known || slices.ContainsFunc(as[:i], func(a inventory.Allocation) bool { return a.Node == as[i].Node }) {
			continue
		}
		x.put(at, x.land.hosts[at].node.With(as...), loadChanged)
	}
}

// Without tries how it is when a replica occupies nothing on these nodes.
func (x *Index) Without(replica string, nodes ...inventory.NodeID) {
	for _, id := range nodes {
		if at, known := x.places[id]; known {
			if n := x.land.hosts[at].node.Without(replica); n != x.land.hosts[at].node {
				x.put(at, n, loadChanged)
			}
		}
	}
}

// Update replaces one node as it is now. It answers false, and does nothing,
// for a node that is not known or that stands elsewhere than before: then the
// next Advance takes it.
func (x *Index) Update(n *inventory.Node) bool {
	at, known := x.places[n.ID]
	if !known || !x.land.stands(int(at), n) {
		return false
	}
	x.put(at, n, nodeChanged)
	return true
}

// Node is a node as the index knows it, with what is tried on it; nil when it
// knows none of that id.
func (x *Index) Node(id inventory.NodeID) *inventory.Node {
	at, known := x.places[id]
	if !known {
		return nil
	}
	return x.land.hosts[at].node
}

// rebuild starts from nothing: nodes came, left or stand elsewhere.
func (x *Index) rebuild(nodes []*inventory.Node) {
	x.land = newLandscape(x.placer, nodes)
	x.kinds = newKinds(x.land)
	x.places = make(map[inventory.NodeID]int32, len(nodes))
	for i, n := range nodes {
		x.places[n.ID] = int32(i)
	}
	x.classes, x.models = map[classKey]*class{}, map[catalog.Name]*followed{}
	x.recent = map[*catalog.Profile]*class{}
	x.first += len(x.journal)
	x.journal = x.journal[:0]
}

// put replaces a host's node.
func (x *Index) put(at int32, n *inventory.Node, kind change) {
	old := x.land.hosts[at].node
	if x.trials > 0 {
		x.undo = append(x.undo, undone{at, old, kind})
	}
	x.follow(at, old.Allocations, n.Allocations)
	x.repriced = x.land.set(int(at), n, kind == nodeChanged, x.repriced[:0])
	if kind == nodeChanged {
		x.kinds.see(int(at), &x.land.hosts[at])
	}
	x.note(entry{at, kind})
	for _, d := range x.repriced {
		x.note(entry{d, priceChanged})
	}
}

func (x *Index) note(e entry) {
	if most := 4*len(x.land.hosts) + 1024; len(x.journal) >= most {
		// Who has not asked since will look at every host again.
		half := most / 2
		x.first += half
		x.journal = x.journal[:copy(x.journal, x.journal[half:])]
	}
	x.journal = append(x.journal, e)
}

// follow counts the replicas that came and went on a host. Both lists are
// ordered by shard.
func (x *Index) follow(at int32, old, now []inventory.Allocation) {
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(old) > 0 && old[0].Shard < now[0].Shard:
			x.stand(at, &old[0], -1)
			old = old[1:]
		case len(old) == 0 || now[0].Shard < old[0].Shard:
			x.stand(at, &now[0], 1)
			now = now[1:]
		default:
			if old[0].Model != now[0].Model || old[0].Replica != now[0].Replica {
				x.stand(at, &old[0], -1)
				x.stand(at, &now[0], 1)
			}
			old, now = old[1:], now[1:]
		}
	}
}

func (x *Index) stand(at int32, a *inventory.Allocation, by int32) {
	if f := x.models[catalog.Name(a.Model)]; f != nil {
		f.stands.add(x.land, at, a.Replica, by)
		f.stands.note(at, len(x.land.hosts))
	}
}

// Choose finds room for one replica as the placer's Choose does on the same
// world, without chance. The trace has the counts and no lines and scores: see
// Explain for those. It belongs to the index and holds until the next call.
func (x *Index) Choose(req Request) (Decision, Trace) {
	x.traces = x.traces[:0]
	for i := range req.Model.Profiles {
		profile := &req.Model.Profiles[i]
		if !req.wants(profile) {
			continue
		}
		spots := x.ask(req, profile)
		if spots != nil {
			return Decision{Placed: true, Candidate: Candidate{Profile: profile.Name, Spots: spots}}, x.trace()
		}
	}
	return Decision{}, x.trace()
}

func (x *Index) trace() Trace { return Trace{Version: x.version, Profiles: x.traces} }

// ask puts one profile to the fleet.
func (x *Index) ask(req Request, profile *catalog.Profile) []Spot {
	c := x.classFor(req, profile)
	c.catchUp(x)
	for id := range req.Avoid {
		if at, known := x.places[id]; known {
			c.exclude(at)
		}
	}
	spots := c.choose()
	x.traces = append(x.traces, c.trace)
	c.include()
	return spots
}

// Try does something and then puts back what With, Without and Update changed
// meanwhile. Trials may nest.
func (x *Index) Try(do func()) {
	mark := len(x.undo)
	x.trials++
	do()
	x.trials--
	for i := len(x.undo) - 1; i >= mark; i-- {
		u := x.undo[i]
		trials := x.trials
		x.trials = 0
		x.put(u.at, u.node, u.kind)
		x.trials = trials
	}
	x.undo = x.undo[:mark]
}
