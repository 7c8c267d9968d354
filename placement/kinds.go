package placement

import (
	"slices"
	"strconv"
)

// kinds tells hosts apart by all that the lasting filters look at, but for
// labels and the names of networks. Fleets have many nodes and few kinds: what
// one host of a kind said, all say.
type kinds struct {
	of      []int32 // by host; -1 for one that is a kind of its own
	numbers map[string]int32
	key     []byte
}

func newKinds(l *landscape) *kinds {
	k := &kinds{of: make([]int32, len(l.hosts)), numbers: map[string]int32{}}
	for i := range l.hosts {
		k.see(i, &l.hosts[i])
	}
	return k
}

// see finds a host's kind.
func (k *kinds) see(at int, h *host) {
	n := h.node
	key := append(k.key[:0], n.State()...)
	key = append(key, '|')
	key = strconv.AppendInt(key, int64(n.Clock()), 10)
	key = strconv.AppendBool(key, n.Held.Yes())
	key = append(append(key, h.pool...), '|')
	key = strconv.AppendBool(key, n.Facts.Engines == nil)
	for i := range n.Facts.Engines {
		e := &n.Facts.Engines[i]
		key = append(append(append(append(key, e.Name...), ':'), e.Build...), '|')
	}
	healthy := make([]int, 0, 8)
	for range h.banks {
		healthy = append(healthy, 0)
	}
	for i := range h.devices {
		d := &h.devices[i]
		if d.bank < 0 {
			k.of[at] = -1
			return
		}
		if d.healthy {
			healthy[d.bank]++
		}
	}
	for i := range h.devices {
		if d := &h.devices[i]; !slices.ContainsFunc(h.devices[:i], func(o device) bool { return o.bank == d.bank }) {
			key = append(append(key, d.of.Class...), '/')
			key = strconv.AppendBool(key, d.of.MIG())
			key = strconv.AppendInt(append(key, '/'), d.nominalMB, 10)
			key = strconv.AppendInt(append(key, '/'), int64(d.capability), 10)
			key = strconv.AppendBool(append(key, '/'), d.capKnown)
			key = strconv.AppendInt(append(key, '/'), int64(h.banks[d.bank].all), 10)
			key = strconv.AppendInt(append(key, '/'), int64(healthy[d.bank]), 10)
		}
	}
	networks := len(h.domains)
	if n.NVLinkDomain() != "" {
		key = append(key, "|nvlink"...)
		networks--
	}
	key = strconv.AppendBool(append(key, '|'), networks > 0)
	key = append(append(key, '|'), n.IMEXLacks()...)
	k.key = key
	number, known := k.numbers[string(key)]
	if !known {
		number = int32(len(k.numbers))
		k.numbers[string(key)] = number
	}
	k.of[at] = number
}

// ask is the answer of a host's lasting filters to a class.
func (k *kinds) ask(c *class, at int32) uint8 {
	number := k.of[at]
	if number < 0 || !c.alike {
		return c.code(c.q.refuseLasting().reason)
	}
	for int(number) >= len(c.said) {
		c.said = append(c.said, unasked)
	}
	if c.said[number] == unasked {
		c.said[number] = c.code(c.q.refuseLasting().reason)
	}
	return c.said[number]
}

// unasked stands for a kind that said nothing yet.
const unasked = 254
