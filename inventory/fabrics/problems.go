package fabrics

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
)

// problems are those there are now, ordered by fabric and kind, without the time
// they were first seen.
func (s *survey) problems() []Problem {
	var out []Problem
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		out = append(out, s.split(name)...)
	}
	for _, key := range slices.Sorted(maps.Keys(s.networks)) {
		w := s.networks[key]
		out = append(out, w.merged()...)
		out = append(out, w.degraded()...)
		out = append(out, w.mtu()...)
		out = append(out, s.smChanged(w)...)
	}
	out = append(out, s.unmanaged()...)
	out = append(out, s.down()...)
	out = append(out, s.errors()...)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Fabric, b.Fabric), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// split finds a name that is on several InfiniBand fabrics. Networks of RoCE may
// be joined by routes, so of them nobody can say that.
func (s *survey) split(name string) []Problem {
	by := map[string][]*link{}
	for _, l := range s.names[name] {
		if guidOf(l.key) != "" {
			by[l.key] = append(by[l.key], l)
		}
	}
	if len(by) < 2 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(by[b]), len(by[a])), cmp.Compare(a, b))
	})
	var parts []string
	var apart []*link
	for i, key := range keys {
		parts = append(parts, fmt.Sprintf("%s with %s", s.networks[key].Label, nodeList(nodesOf(by[key]))))
		if i > 0 {
			apart = append(apart, by[key]...)
		}
	}
	return []Problem{{Fabric: name, Kind: Split, Nodes: nodesOf(apart), Text: fmt.Sprintf(
		"%s is %d networks that do not reach each other: %s. No group is placed across them; look at the links between their switches, or give them different names.",
		name, len(keys), few(parts, "; "))}}
}

// merged finds several names on one network.
func (w *network) merged() []Problem {
	if len(w.Declared) < 2 {
		return nil
	}
	return []Problem{{Fabric: w.ID(), Kind: Merged, Nodes: w.Nodes, Text: fmt.Sprintf(
		"%s are one network, %s. Give them one name; or where they should be apart, look for a cable between their switches.",
		few(w.Declared, ", "), w.Label)}}
}

// degraded finds ports that are slower than most of their network. Where more
// than a quarter are, they are taken for machines of another generation.
func (w *network) degraded() []Problem {
	usual := mostCommon(w.links, func(l *link) int { return l.RateGbps })
	slow := w.those(func(l *link) bool { return l.RateGbps > 0 && l.RateGbps < usual })
	if len(slow) == 0 || len(slow) > max(1, len(w.links)/4) {
		return nil
	}
	return []Problem{{Fabric: w.Name(), Kind: Degraded, Nodes: nodesOf(slow), Text: fmt.Sprintf(
		"%s than most of %s, which run at %d Gb/s: reseat or change the cable.",
		portList(slow, func(l *link) string { return fmt.Sprintf("%s runs at %d Gb/s, slower", l.id, l.RateGbps) }, "run slower"), w.Name(), usual)}}
}

// mtu finds ports that take packets of another size than most of their network.
func (w *network) mtu() []Problem {
	usual := mostCommon(w.links, func(l *link) int { return l.MTU })
	other := w.those(func(l *link) bool { return l.MTU > 0 && l.MTU != usual })
	if len(other) == 0 {
		return nil
	}
	return []Problem{{Fabric: w.Name(), Kind: MTU, Nodes: nodesOf(other), Text: fmt.Sprintf(
		"%s than most of %s, which have %d: large messages hang or crawl between them. Set one MTU on every port, and on the switches.",
		portList(other, func(l *link) string { return fmt.Sprintf("%s has an MTU of %d, another", l.id, l.MTU) }, "have another MTU"), w.Name(), usual)}}
}

func (w *network) those(are func(*link) bool) []*link {
	var out []*link
	for _, l := range w.links {
		if are(l) {
			out = append(out, l)
		}
	}
	return out
}

// mostCommon is the value that most ports say, the largest of several; zero
// where none says any.
func mostCommon(links []*link, value func(*link) int) (usual int) {
	counts := map[int]int{}
	for _, l := range links {
		if v := value(l); v > 0 {
			counts[v]++
		}
	}
	for v, n := range counts {
		if n > counts[usual] || n == counts[usual] && v > usual {
			usual = v
		}
	}
	return usual
}

// smChanged tells of the newest change of a network's manager, for a day.
func (s *survey) smChanged(w *network) []Problem {
	for _, c := range s.memory.changes {
		if c.Key == w.Key && s.now.Sub(c.At) < recent {
			return []Problem{{Fabric: w.Name(), Kind: SMChanged, Text: fmt.Sprintf(
				"%s is managed by %s since %s, and was by %s before. Unless that was meant, look at why the former one stopped; engines keep their connections, and new ones work again.",
				w.Name(), s.manager(c.To), c.At.UTC().Format(time.RFC3339), s.manager(c.From))}}
		}
	}
	return nil
}

// manager is a manager with the node it runs on.
func (s *survey) manager(guid string) string {
	if n := s.hosts[guid]; n != "" {
		return fmt.Sprintf("%s on %s", guid, n)
	}
	return guid
}

// changed is when the manager of a fabric changed last.
func (s *survey) changed(fabric string) time.Time {
	for _, c := range s.memory.changes {
		if w := s.networks[c.Key]; w != nil && w.Name() == fabric {
			return c.At
		}
	}
	return time.Time{}
}

// unmanaged finds InfiniBand ports that are linked up and configured by nobody.
func (s *survey) unmanaged() []Problem {
	return s.byFabric(s.idle, Unmanaged, isUnmanaged, func(fabric string, links []*link) string {
		return fmt.Sprintf("%s linked up, and no subnet manager configures %s: start opensm on a node or switch of %s, or look at why it stopped.",
			portList(links, func(l *link) string { return l.id.String() + " is" }, "are"), oneOr(links, "it", "them"), fabricWord(fabric))
	})
}

func isUnmanaged(l *link) bool {
	return l.LinkLayer != ethernet && l.PhysState == "LinkUp" && (l.State == "INIT" || l.State == "ARMED")
}

// down finds ports that were active when they were seen before, and those that
// are active on at least half of the other nodes that have them by one name.
func (s *survey) down() []Problem {
	return s.byFabric(s.idle, Down, func(l *link) bool {
		return !isUnmanaged(l) && (s.memory.ports[l.id].key != "" || s.expected(l))
	}, func(_ string, links []*link) string {
		return fmt.Sprintf("%s: look at the cable, and at the switch's port.",
			portList(links, func(l *link) string { return fmt.Sprintf("%s is %s", l.id, stateOf(l)) }, "are down"))
	})
}

// expected reports whether a port that has a name is active on at least half of
// the other nodes where it has it.
func (s *survey) expected(l *link) bool {
	if l.Fabric == "" {
		return false
	}
	same := func(o *link) bool { return o.id.HCA == l.id.HCA && o.id.Port == l.id.Port && o.id.Node != l.id.Node }
	up, down := 0, 0
	for _, o := range s.names[l.Fabric] {
		if same(o) {
			up++
		}
	}
	for _, o := range s.idle {
		if o.Fabric == l.Fabric && same(o) {
			down++
		}
	}
	return up > 0 && up >= down
}

// stateOf is what a port that is not active does.
func stateOf(l *link) string {
	state := strings.ToLower(cmp.Or(l.State, "down"))
	if l.PhysState == "" {
		return state
	}
	return fmt.Sprintf("%s (%s)", state, l.PhysState)
}

// errors finds active ports whose counters of errors grew.
func (s *survey) errors() []Problem {
	var links []*link
	for _, key := range slices.Sorted(maps.Keys(s.networks)) {
		links = append(links, s.networks[key].links...)
	}
	grew := func(l *link) seen { return s.memory.ports[l.id] }
	return s.byFabric(links, Errors, func(l *link) bool { return len(grew(l).grew) > 0 && s.now.Sub(grew(l).grewAt) <= grown }, func(_ string, links []*link) string {
		var all []string
		for _, l := range links {
			var counters []string
			for _, name := range slices.Sorted(maps.Keys(grew(l).grew)) {
				counters = append(counters, fmt.Sprintf("%s +%d", name, grew(l).grew[name]))
			}
			all = append(all, fmt.Sprintf("%s: %s", l.id, few(counters, ", ")))
		}
		return fmt.Sprintf("Errors are counted on %s. Clean or change the cable, and look at the switch's port.", few(all, "; "))
	})
}

// byFabric makes one problem of all ports of a fabric that have it.
func (s *survey) byFabric(links []*link, kind Kind, has func(*link) bool, text func(fabric string, links []*link) string) []Problem {
	by := map[string][]*link{}
	for _, l := range links {
		if has(l) {
			by[s.name(l)] = append(by[s.name(l)], l)
		}
	}
	var out []Problem
	for _, fabric := range slices.Sorted(maps.Keys(by)) {
		out = append(out, Problem{Fabric: fabric, Kind: kind, Text: text(fabric, by[fabric]), Nodes: nodesOf(by[fabric])})
	}
	return out
}

// oneOr is one word for one port, and another for several.
func oneOr(links []*link, one, several string) string {
	if len(links) == 1 {
		return one
	}
	return several
}

func fabricWord(fabric string) string {
	if fabric == noFabric {
		return "the fabric"
	}
	return fabric
}

// nodeList names some nodes.
func nodeList(nodes []inventory.NodeID) string {
	var out []string
	for _, n := range nodes {
		out = append(out, string(n))
	}
	return few(out, ", ")
}
