package placement

import (
	"cmp"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// landscape is every host with where it stands: what both the plain scan and
// the index decide on.
type landscape struct {
	placer   Placer
	measurer *measurer
	hosts    []host // ordered by node
	plans    map[inventory.Level]*plan
	domains  []domain
	numbers  map[domainKey]int32
	gangs    []gang
	// topologies are those of hosts, by how their devices lie; layout is room for
	// such a key.
	topologies map[string]*topology
	layout     []byte
	scarcities scarcities
}

// plan is a level of the building: which hosts stand in which of its domains.
type plan struct {
	of      []int32 // by host; -1 where it does not say
	members [][]int32
	numbers map[string]int32
}

func newLandscape(p Placer, nodes []*inventory.Node) *landscape {
	l := &landscape{
		placer: p, measurer: newMeasurer(p.Mix), hosts: make([]host, len(nodes)),
		plans: map[inventory.Level]*plan{}, numbers: map[domainKey]int32{}, topologies: map[string]*topology{},
	}
	l.gangs = gangsOf(l.measurer)
	devices := 0
	for _, n := range nodes {
		devices += len(n.Facts.Devices)
	}
	// What hosts hold lies in few large pieces: a node costs no allocation.
	lists, free := make([]device, devices), make([]int64, devices)
	banks, suits := make([]bank, devices), make([]uint8, len(nodes)*len(l.measurer.parts))
	for i, n := range nodes {
		h := &l.hosts[i]
		k := len(n.Facts.Devices)
		h.devices, lists = lists[:0:k], lists[k:]
		h.banks, banks = banks[:0:k], banks[k:]
		k = len(l.measurer.parts)
		h.suits, suits = suits[:0:k], suits[k:]
		h.fill(n, true)
		l.measurer.survey(h)
		for b := range h.banks {
			k := h.banks[b].all
			h.banks[b].free, free = free[:0:k], free[k:]
		}
		h.weigh()
		l.enter(i)
	}
	for i := range l.hosts {
		l.count(i, 1)
		l.scarcities.count(l.measurer, &l.hosts[i], 1)
	}
	l.scarcities.weigh(l.measurer)
	l.price()
	return l
}

// place finds a node by its id.
func (l *landscape) place(id inventory.NodeID) (int, bool) {
	return slices.BinarySearchFunc(l.hosts, id, func(h host, id inventory.NodeID) int { return cmp.Compare(h.node.ID, id) })
}

// plan is a level of the building, made when it is first asked for.
func (l *landscape) plan(level inventory.Level) *plan {
	if p := l.plans[level]; p != nil {
		return p
	}
	p := &plan{of: make([]int32, len(l.hosts)), numbers: map[string]int32{}}
	for i := range l.hosts {
		name := l.hosts[i].node.Domain(level)
		if name == "" {
			p.of[i] = -1
			continue
		}
		number, known := p.numbers[name]
		if !known {
			number = int32(len(p.members))
			p.numbers[name] = number
			p.members = append(p.members, nil)
		}
		p.of[i] = number
		p.members[number] = append(p.members[number], int32(i))
	}
	l.plans[level] = p
	return p
}

// stands reports whether a node stands where the one that it replaces did, so
// that plans and domains still hold.
func (l *landscape) stands(i int, n *inventory.Node) bool {
	for level, p := range l.plans {
		name := n.Domain(level)
		number, known := p.numbers[name]
		if known && p.of[i] != number || !known && (name != "" || p.of[i] >= 0) {
			return false
		}
	}
	keys := domainsOf(n)
	h := &l.hosts[i]
	if len(keys) != len(h.domains) {
		return false
	}
	for k, key := range keys {
		if number, known := l.numbers[key]; !known || h.domains[k] != number {
			return false
		}
	}
	return true
}

// set replaces a host's node by one that stands in the same place. lasting says
// that more than what is placed there has changed. It answers which domains
// have another price since.
func (l *landscape) set(i int, n *inventory.Node, lasting bool, repriced []int32) []int32 {
	h := &l.hosts[i]
	l.count(i, -1)
	if lasting {
		l.scarcities.count(l.measurer, h, -1)
	}
	h.fill(n, lasting)
	if lasting {
		l.measurer.survey(h)
		l.scarcities.count(l.measurer, h, 1)
	}
	h.weigh()
	l.count(i, 1)
	for _, d := range h.domains {
		if l.domains[d].reprice(l) {
			repriced = append(repriced, d)
		}
	}
	return repriced
}
