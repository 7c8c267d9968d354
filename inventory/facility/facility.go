package facility

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// chain is the way from a rack to the site. A PDU is apart from it: it may feed
// several racks, and a rack may have two.
var chain = []inventory.Level{inventory.LevelRack, inventory.LevelRow, inventory.LevelRoom, inventory.LevelSite}

// above are the levels that a place of a level can stand in, the nearest first.
func above(l inventory.Level) []inventory.Level {
	if l == inventory.LevelPDU {
		return chain
	}
	return chain[slices.Index(chain, l)+1:]
}

// building is the report in the making.
type building struct {
	places map[inventory.Domain]*site
	// levels counts the domains of each level that a node stands in.
	levels map[inventory.Level]int
}

// site is a place with what stands in it.
type site struct {
	Place
	nodes    []*inventory.Node
	replicas map[string]bool
}

// Analyze reports on nodes, what runs on them, and what is held.
func Analyze(nodes []*inventory.Node, replicas []Replica, holds []inventory.Hold) Report {
	b := &building{places: map[inventory.Domain]*site{}, levels: map[inventory.Level]int{}}
	for i := range holds {
		b.place(holds[i].Domain).Hold = &holds[i]
	}
	for _, n := range nodes {
		b.stand(n)
	}
	var out Report
	for _, s := range b.ordered() {
		out.Problems = append(out.Problems, b.findParent(s)...)
		s.Replicas = len(s.replicas)
		out.Places = append(out.Places, s.Place)
	}
	out.AtRisk = b.atRisk(nodes, replicas)
	return out
}

// place finds or adds a domain.
func (b *building) place(d inventory.Domain) *site {
	s := b.places[d]
	if s == nil {
		s = &site{Place: Place{Domain: d}, replicas: map[string]bool{}}
		b.places[d] = s
	}
	return s
}

// stand counts a node in every domain that it names.
func (b *building) stand(n *inventory.Node) {
	free := 0
	for _, d := range n.Facts.Devices {
		if d.Healthy() && n.DeviceUse(d.Index).Free() {
			free++
		}
	}
	power := powerOf(n)
	places := domains(n)
	if self := (inventory.Domain{Level: inventory.LevelNode, Name: string(n.ID)}); b.places[self] != nil {
		places = append(places, self)
	}
	for _, d := range places {
		s := b.place(d)
		if s.Nodes == 0 {
			b.levels[d.Level]++
		}
		s.nodes = append(s.nodes, n)
		s.Nodes++
		s.GPUs += len(n.Facts.Devices)
		s.Free += free
		if power != nil {
			sum := *power
			if s.PowerW != nil {
				sum += *s.PowerW
			}
			s.PowerW = &sum
		}
		for _, a := range n.Allocations {
			s.replicas[a.Replica] = true
		}
	}
}

// domains are those of the building that the node names, the narrowest first.
func domains(n *inventory.Node) []inventory.Domain {
	var out []inventory.Domain
	for _, l := range inventory.Levels {
		if name := n.Domain(l); l != inventory.LevelNode && name != "" {
			out = append(out, inventory.Domain{Level: l, Name: name})
		}
	}
	return out
}

// powerOf is what the node's sensors measure together; nil when none says.
func powerOf(n *inventory.Node) *float64 {
	if n.Sample == nil {
		return nil
	}
	sum, said := 0.0, false
	add := func(w *float64) {
		if w != nil {
			sum, said = sum+*w, true
		}
	}
	add(n.Sample.CPUPowerW)
	for i := range n.Sample.GPUs {
		add(n.Sample.GPUs[i].PowerW)
	}
	if !said {
		return nil
	}
	return &sum
}

func (b *building) ordered() []*site {
	out := make([]*site, 0, len(b.places))
	for _, s := range b.places {
		out = append(out, s)
	}
	slices.SortFunc(out, func(x, y *site) int {
		return cmp.Or(
			cmp.Compare(slices.Index(inventory.Levels, y.Domain.Level), slices.Index(inventory.Levels, x.Domain.Level)),
			cmp.Compare(x.Domain.Name, y.Domain.Name),
		)
	})
	return out
}

// findParent finds the next wider domain that the place's nodes name, and says
// where they name two: a place stands in one. A PDU hangs from the narrowest
// domain that all its nodes share.
func (b *building) findParent(s *site) (problems []string) {
	for _, l := range above(s.Domain.Level) {
		by := nodesBy(s.nodes, l)
		switch {
		case len(by) == 0 || len(by) > 1 && s.Domain.Level == inventory.LevelPDU:
			continue
		case len(by) > 1:
			problems = append(problems, twoParents(s.Domain, l, by))
		}
		s.Parent = inventory.Domain{Level: l, Name: by[0].name}
		return problems
	}
	return problems
}

// named are the nodes that name one domain of a level.
type named struct {
	name  string
	nodes []string
}

// nodesBy sorts nodes by the domain of a level that they name, ordered by name.
// Those that name none say nothing.
func nodesBy(nodes []*inventory.Node, l inventory.Level) []named {
	var out []named
	for _, n := range nodes {
		name := n.Domain(l)
		if name == "" {
			continue
		}
		i, found := slices.BinarySearchFunc(out, name, func(x named, name string) int { return cmp.Compare(x.name, name) })
		if !found {
			out = slices.Insert(out, i, named{name: name})
		}
		out[i].nodes = append(out[i].nodes, string(n.ID))
	}
	return out
}

// maxShown is how many parents, and nodes of each, a sentence names.
const maxShown = 3

func twoParents(d inventory.Domain, l inventory.Level, by []named) string {
	var where []string
	for _, x := range by[:min(len(by), maxShown)] {
		slices.Sort(x.nodes)
		nodes := strings.Join(x.nodes[:min(len(x.nodes), maxShown)], ", ")
		if more := len(x.nodes) - maxShown; more > 0 {
			nodes += fmt.Sprintf(" and %d more", more)
		}
		where = append(where, fmt.Sprintf("in %s %s by %s", l, x.name, nodes))
	}
	if more := len(by) - maxShown; more > 0 {
		where = append(where, fmt.Sprintf("in %d more", more))
	}
	return fmt.Sprintf("%s %s stands %s: it can stand in one only; mend the label %s%s, or give the two different names",
		d.Level, d.Name, strings.Join(where, " and "), inventory.LabelPrefix, l)
}
