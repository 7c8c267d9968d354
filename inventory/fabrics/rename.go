package fabrics

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
)

// move is a port that saw one network before and sees another now.
type move struct{ from, to string }

// rename finds out which moves are a network under another manager, and which a
// cable that was moved. A manager has taken over where the other network
//
//   - is managed by one who was known to stand by for the first, or
//   - has no ports but those of the first, and nobody sees the first any more.
//
// While others still see the first, the matter is in doubt: they may just not
// have asked since. After three minutes who sees the other was cabled elsewhere.
func (m *Memory) rename(prev Memory, nodes []*inventory.Node, moves []move, now time.Time) {
	slices.SortFunc(moves, func(a, b move) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	inUse := map[string]bool{}
	for _, s := range prev.ports {
		inUse[s.key] = true
	}
	for _, x := range slices.Compact(moves) {
		m.judge(prev, x, inUse, now)
	}
	confirmed := m.confirmed(nodes)
	for _, to := range slices.Sorted(maps.Keys(m.doubts)) {
		d := m.doubts[to]
		switch {
		case !confirmed[d.from] || slices.Contains(prev.managers[d.from], guidOf(to)):
			m.takeOver(d.from, to, now)
		case now.Sub(d.since) >= settle:
			delete(m.doubts, to)
		}
	}
}

// judge takes one kind of move into doubt, unless there is none.
func (m *Memory) judge(prev Memory, x move, inUse map[string]bool, now time.Time) {
	if guidOf(x.from) == "" || guidOf(x.to) == "" {
		return
	}
	current := m.Key(x.from)
	switch {
	case x.to == current:
		// Who asked late hears of what is known.
	case m.became[x.to] == current:
		// It is managed by one who managed it before.
		m.takeOver(current, x.to, now)
	case inUse[x.to]:
		// Others were on that network before: it is another one, or in doubt
		// already.
	default:
		if m.doubts == nil {
			m.doubts = map[string]doubt{}
		}
		m.doubts[x.to] = doubt{from: current, since: now}
	}
}

// confirmed are the networks that a port sees now, by what it was told when it
// asked.
func (m *Memory) confirmed(nodes []*inventory.Node) map[string]bool {
	out := map[string]bool{}
	for _, n := range nodes {
		if n.Hearing != inventory.Heard {
			continue
		}
		for i := range n.Facts.Ports {
			if p := &n.Facts.Ports[i]; p.Active && p.SMError == "" {
				out[m.ports[Port{n.ID, p.HCA, p.Port}].key] = true
			}
		}
	}
	return out
}

// takeOver notes that a network is managed by another.
func (m *Memory) takeOver(from, to string, now time.Time) {
	if m.became == nil {
		m.became = map[string]string{}
	}
	for old, key := range m.became {
		if key == from {
			m.became[old] = to
		}
	}
	m.became[from] = to
	delete(m.became, to)
	delete(m.doubts, to)
	for other, d := range m.doubts {
		if d.from == from {
			m.doubts[other] = doubt{from: to, since: d.since}
		}
	}
	changes := []Change{{Key: to, From: guidOf(from), To: guidOf(to), At: now}}
	for _, c := range m.changes {
		if c.Key == from {
			c.Key = to
		}
		changes = append(changes, c)
	}
	m.changes = changes[:min(len(changes), mostChanges)]
}

// hearManagers notes who manages each network, or stands by to. A network of
// which nobody says keeps those it had.
func (m *Memory) hearManagers(prev Memory, nodes []*inventory.Node) {
	for _, n := range nodes {
		for i := range n.Facts.Ports {
			p := &n.Facts.Ports[i]
			s := m.ports[Port{n.ID, p.HCA, p.Port}]
			if s.key == "" || p.SMError != "" {
				continue
			}
			key := m.Key(s.key)
			for _, sm := range p.SMs {
				if at, found := slices.BinarySearch(m.managers[key], sm.GUID); !found {
					m.managers[key] = slices.Insert(m.managers[key], at, sm.GUID)
				}
			}
		}
	}
	for key, guids := range prev.managers {
		if key = m.Key(key); m.managers[key] == nil {
			m.managers[key] = guids
		}
	}
}

// forget drops what no port says any more.
func (m *Memory) forget() {
	used := map[string]bool{}
	for _, s := range m.ports {
		used[s.key], used[m.Key(s.key)] = true, true
	}
	maps.DeleteFunc(m.became, func(old, _ string) bool { return !used[old] })
	maps.DeleteFunc(m.doubts, func(to string, _ doubt) bool { return !used[to] })
	maps.DeleteFunc(m.managers, func(key string, _ []string) bool { return !used[key] })
}

// guidOf is the port GUID of the manager that a key names. Empty: it names none.
func guidOf(key string) string {
	guid, ok := strings.CutPrefix(key, inventory.KeySM)
	if !ok {
		return ""
	}
	return guid
}
