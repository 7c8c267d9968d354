package fabrics

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
)

// Analyze reports on the networks of nodes by what is remembered of them. Nodes
// that are lost are on none. Without a memory it knows of no changes, of no
// errors that grow, and of no port that was up before.
func Analyze(nodes []*inventory.Node, m Memory, now time.Time) Report {
	s := analyze(m, nodes, now)
	out := Report{Changes: m.changes}
	for _, key := range slices.Sorted(maps.Keys(s.networks)) {
		out.Physical = append(out.Physical, s.networks[key].Physical)
	}
	for _, p := range s.problems() {
		if p.Since = m.since[trouble{p.Fabric, p.Kind}]; p.Kind == SMChanged {
			p.Since = s.changed(p.Fabric)
		}
		if p.Kind == Unmanaged && !p.Since.IsZero() && now.Sub(p.Since) < patience {
			continue // it may just have been plugged in
		}
		out.Problems = append(out.Problems, p)
	}
	return out
}

// survey is the report in the making.
type survey struct {
	memory   Memory
	now      time.Time
	networks map[string]*network
	// names are the active ports by the name they were given.
	names map[string][]*link
	// idle are ports that are not active, of nodes that are heard.
	idle []*link
	// hosts are the nodes that subnet managers' ports are on, by GUID.
	hosts map[string]inventory.NodeID
}

// network is one physical network with its active ports.
type network struct {
	Physical
	links []*link
}

// link is one port, and the network it is on, or was on last.
type link struct {
	*inventory.Port
	id  Port
	key string
}

func analyze(m Memory, nodes []*inventory.Node, now time.Time) *survey {
	s := &survey{memory: m, now: now, networks: map[string]*network{}, names: map[string][]*link{}, hosts: map[string]inventory.NodeID{}}
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b *inventory.Node) int { return cmp.Compare(a.ID, b.ID) })
	for _, n := range nodes {
		if n.Hearing == inventory.Lost {
			continue
		}
		for i := range n.Facts.Ports {
			s.add(n, &n.Facts.Ports[i])
		}
	}
	for _, w := range s.networks {
		w.describe(s.hosts)
	}
	return s
}

func (s *survey) add(n *inventory.Node, p *inventory.Port) {
	if p.PortGUID != "" {
		s.hosts[p.PortGUID] = n.ID
	}
	l := &link{Port: p, id: Port{n.ID, p.HCA, p.Port}}
	l.key = s.memory.networkOf(l.id, p)
	switch {
	case !p.Active && n.Hearing == inventory.Heard:
		s.idle = append(s.idle, l)
	case p.Active && l.key != "":
		w := s.networks[l.key]
		if w == nil {
			w = &network{Physical: Physical{Key: l.key}}
			s.networks[l.key] = w
		}
		w.links = append(w.links, l)
		if p.Fabric != "" {
			s.names[p.Fabric] = append(s.names[p.Fabric], l)
		}
	}
}

// name is what people call the network that a port is on, or was on last.
func (s *survey) name(l *link) string {
	switch w := s.networks[l.key]; {
	case l.Fabric != "":
		return l.Fabric
	case w != nil:
		return w.Name()
	case l.key != "":
		return ID(l.key)
	}
	return noFabric
}

// describe fills in what the ports say together.
func (w *network) describe(hosts map[string]inventory.NodeID) {
	w.Label, w.Nodes, w.Ports = w.label(), nodesOf(w.links), len(w.links)
	sms := map[string]inventory.SubnetManager{}
	for _, l := range w.links {
		if l.Fabric != "" {
			w.Declared = append(w.Declared, l.Fabric)
		}
		w.SMError = cmp.Or(w.SMError, l.SMError)
		for _, sm := range l.SMs {
			sms[sm.GUID] = sm
		}
		if l.SM != nil {
			sms[l.SM.GUID] = *l.SM
		}
	}
	slices.Sort(w.Declared)
	w.Declared = slices.Compact(w.Declared)
	for _, sm := range sms {
		w.SMs = append(w.SMs, Manager{SubnetManager: sm, Node: hosts[sm.GUID]})
	}
	slices.SortFunc(w.SMs, func(a, b Manager) int {
		return cmp.Or(cmp.Compare(standing(a), standing(b)), cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.GUID, b.GUID))
	})
	w.SM = w.master(hosts)
}

// standing is smaller for who manages.
func standing(m Manager) int {
	if m.State == master {
		return 0
	}
	return 1
}

const master = "master"

// master is who manages the network, by its key: what a port that has not asked
// since says of a former one counts for nothing.
func (w *network) master(hosts map[string]inventory.NodeID) *Manager {
	guid := guidOf(w.Key)
	if guid == "" {
		return nil
	}
	for i := range w.SMs {
		if w.SMs[i].GUID == guid {
			return &w.SMs[i]
		}
	}
	return &Manager{SubnetManager: inventory.SubnetManager{GUID: guid, LID: w.links[0].SMLID}, Node: hosts[guid]}
}

// label is the first that a port gives to the network as it is now.
func (w *network) label() string {
	for _, l := range w.links {
		if l.Port.Physical == w.Key {
			return l.Label()
		}
	}
	if name, ok := strings.CutPrefix(w.Key, inventory.KeyDeclared); ok {
		return name + ", as declared: its ports do not say which network they are on"
	}
	p := inventory.Port{Physical: w.Key}
	return p.Label()
}

// nodesOf are the nodes of ports, in order.
func nodesOf(links []*link) []inventory.NodeID {
	var out []inventory.NodeID
	for _, l := range links {
		out = append(out, l.id.Node)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
