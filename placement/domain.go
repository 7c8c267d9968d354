package placement

import (
	"llmgw.io/llmgw/inventory"
)

// domain is a network or an NVLink domain of several nodes: what the shards of
// one replica must share. A facility's domains are another thing, see plan.
type domain struct {
	key     domainKey
	members []int32
	rooms   []room
}

type domainKey struct {
	nvlink bool
	key    string
	// name is a network's declared one, for those who ask for it by name; empty
	// for the network itself.
	name string
}

// gang is a part of the mix that spans nodes.
type gang struct {
	part, profile int // in the measurer
	q             *query
	devices       int // a shard
	shards        int
	chance        float64
}

// room is how many vacant hosts of a domain a gang could use, and what it costs
// the gang's kind, in devices, when one of them is opened.
type room struct {
	gang   int
	hosts  int
	priced int // hosts when the cost was worked out
	cost   float64
}

func gangsOf(m *measurer) []gang {
	var out []gang
	for i, p := range m.parts {
		for j, q := range p.profiles {
			if q.profile.ShardCount() > 1 && q.need.devices > 0 {
				out = append(out, gang{part: i, profile: j, q: q, devices: q.need.devices, shards: q.profile.ShardCount(), chance: p.chance})
			}
		}
	}
	return out
}

func domainsOf(n *inventory.Node) []domainKey {
	var out []domainKey
	if nvl := n.NVLinkDomain(); nvl != "" {
		out = append(out, domainKey{nvlink: true, key: nvl})
	}
	if len(n.Facts.Ports) == 0 {
		return out
	}
	for _, f := range n.Fabrics() {
		if k := (domainKey{key: f.Key}); len(out) == 0 || out[len(out)-1].key != f.Key {
			out = append(out, k)
		}
		if f.Name != "" {
			out = append(out, domainKey{key: f.Key, name: f.Name})
		}
	}
	return out
}

// enter puts a host into its domains.
func (l *landscape) enter(i int) {
	h := &l.hosts[i]
	h.domains = h.domains[:0]
	for _, key := range domainsOf(h.node) {
		number, known := l.numbers[key]
		if !known {
			number = int32(len(l.domains))
			l.numbers[key] = number
			d := domain{key: key}
			for g := range l.gangs {
				if l.gangs[g].q.within(key) {
					d.rooms = append(d.rooms, room{gang: g})
				}
			}
			l.domains = append(l.domains, d)
		}
		h.domains = append(h.domains, number)
		l.domains[number].members = append(l.domains[number].members, int32(i))
	}
}

// within reports whether a domain is of the kind that the profile's shards
// must share.
func (q *query) within(key domainKey) bool {
	if q.profile.NVLinkDomain || key.nvlink {
		return q.profile.NVLinkDomain && key.nvlink
	}
	if q.profile.Fabric == anyFabric {
		return key.name == ""
	}
	return q.profile.Fabric != "" && q.profile.Fabric == key.name
}

// hosts reports whether a vacant host is room for a shard of the gang.
func (g *gang) hosts(h *host) bool {
	return h.vacant && h.untouched >= g.devices && int(h.suits[g.part]) == min(g.profile, 254)+1
}

// count adds a host to the room of its domains, or takes it away.
func (l *landscape) count(i, by int) {
	h := &l.hosts[i]
	for _, d := range h.domains {
		for r := range l.domains[d].rooms {
			if room := &l.domains[d].rooms[r]; l.gangs[room.gang].hosts(h) {
				room.hosts += by
			}
		}
	}
}

func (l *landscape) price() {
	for i := range l.domains {
		l.domains[i].reprice(l)
	}
}

// reprice works out what opening a vacant host costs each kind of gang, and
// reports whether that has changed.
func (d *domain) reprice(l *landscape) (changed bool) {
	for i := range d.rooms {
		r := &d.rooms[i]
		g := &l.gangs[r.gang]
		cost := g.chance * float64(g.devices) * openingLoss(r.hosts, g.shards)
		changed = changed || r.hosts != r.priced
		r.cost, r.priced = cost, r.hosts
	}
	return changed
}

// openingLoss is how many hosts a kind of gang loses, beside the one that is
// opened, when one of so many is. Hosts that no whole gang could have anyway
// cost nothing.
func openingLoss(hosts, shards int) float64 {
	switch {
	case hosts < shards:
		return -deadDomain
	case hosts%shards == 0:
		return float64(shards-1) + crowding*float64(min(hosts, mostCrowded))
	}
	return crowding * float64(min(hosts, 64))
}

// opening is what it costs gangs, in devices, to open a vacant host.
func (l *landscape) opening(h *host) float64 {
	sum := 0.0
	for _, d := range h.domains {
		for i := range l.domains[d].rooms {
			if r := &l.domains[d].rooms[i]; l.gangs[r.gang].hosts(h) {
				sum += r.cost
			}
		}
	}
	return sum
}

// grouping is what it costs gangs, in devices, beside the hosts that are taken,
// when a group takes these of a domain.
func (l *landscape) grouping(d *domain, group []member) float64 {
	sum := 0.0
	for i := range d.rooms {
		r := &d.rooms[i]
		g := &l.gangs[r.gang]
		taken := 0
		for _, m := range group {
			if g.hosts(&l.hosts[m.at]) {
				taken++
			}
		}
		whole := func(hosts int) int { return hosts / g.shards * g.shards }
		lost := whole(r.hosts) - whole(r.hosts-taken) - taken
		sum += g.chance * float64(g.devices) * float64(lost)
	}
	return sum
}
