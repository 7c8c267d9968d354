package fabrics

import (
	"maps"
	"time"

	"llmgw.io/llmgw/inventory"
)

// Watch takes a look: it remembers what ports say now beside what they said
// before. Nodes that are silent are remembered as they were; ports that a node no
// longer has are forgotten. Looks may be any time apart; a minute and more loses
// the rates of traffic.
func Watch(prev Memory, nodes []*inventory.Node, now time.Time) Memory {
	next := Memory{
		ports: make(map[Port]seen, len(prev.ports)), became: maps.Clone(prev.became), doubts: maps.Clone(prev.doubts),
		managers: map[string][]string{}, changes: prev.changes,
	}
	var moves []move
	for _, n := range nodes {
		if n.Hearing != inventory.Heard {
			next.keep(prev, n)
			continue
		}
		for i := range n.Facts.Ports {
			p := &n.Facts.Ports[i]
			id := Port{n.ID, p.HCA, p.Port}
			was := prev.ports[id]
			is := was
			is.listen(p)
			is.count(n, p, now)
			next.ports[id] = is
			if was.key != "" && is.key != was.key {
				moves = append(moves, move{from: was.key, to: is.key})
			}
		}
	}
	next.rename(prev, nodes, moves, now)
	next.hearManagers(prev, nodes)
	next.forget()
	next.date(prev, nodes, now)
	return next
}

// keep remembers the ports of a node that is silent.
func (m *Memory) keep(prev Memory, n *inventory.Node) {
	for i := range n.Facts.Ports {
		p := &n.Facts.Ports[i]
		id := Port{n.ID, p.HCA, p.Port}
		if s, ok := prev.ports[id]; ok {
			m.ports[id] = s
		}
	}
}

// listen takes a port's word for the network it is on. A query that fails, or a
// port that is down, says nothing of it.
func (s *seen) listen(p *inventory.Port) {
	if p.Active && p.Physical != "" && (p.SMError == "" || s.key == "") {
		s.key = p.Physical
	}
}

// count takes a port's newest counters beside the ones before.
func (s *seen) count(n *inventory.Node, p *inventory.Port, now time.Time) {
	if now.Sub(s.grewAt) > grown {
		s.grew, s.grewFrom, s.grewAt = nil, time.Time{}, time.Time{}
	}
	if n.Sample == nil || n.SampleAt.Equal(s.sampled) {
		return
	}
	if c := n.Counters(p); c != nil {
		s.read(c, n.SampleAt)
	}
}

func (s *seen) read(c *inventory.PortCounters, at time.Time) {
	first, span := s.sampled.IsZero(), at.Sub(s.sampled).Seconds()
	s.txBPS, s.rxBPS = 0, 0
	if !first && span > 0 {
		s.txBPS, s.rxBPS = rate(s.tx, c.TxBytes, span), rate(s.rx, c.RxBytes, span)
	}
	grew := map[string]int64{}
	maps.Copy(grew, s.grew)
	more := false
	for name, v := range c.Errors {
		if by := v - s.errors[name]; by > 0 && !first {
			grew[name] += by
			more = true
		}
	}
	if more {
		if s.grewAt.IsZero() {
			s.grewFrom = s.sampled
		}
		s.grew, s.grewAt = grew, at
	}
	s.sampled, s.tx, s.rx, s.errors = at, c.TxBytes, c.RxBytes, c.Errors
}

// rate is bits a second. A counter that fell was reset.
func rate(from, to *int64, span float64) float64 {
	if from == nil || to == nil || *to < *from {
		return 0
	}
	return float64(*to-*from) * 8 / span
}

// date notes when each problem was first seen.
func (m *Memory) date(prev Memory, nodes []*inventory.Node, now time.Time) {
	since := map[trouble]time.Time{}
	for _, p := range analyze(*m, nodes, now).problems() {
		t := trouble{p.Fabric, p.Kind}
		since[t] = now
		if at, known := prev.since[t]; known {
			since[t] = at
		}
	}
	m.since = since
}
