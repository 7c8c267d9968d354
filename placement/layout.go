package placement

import (
	"math/bits"

	"llmgw.io/llmgw/inventory"
)

// layout is how the open devices of a host lie to each other, as sets of bits:
// bit i is the i-th of them, in order of index.
type layout struct {
	count int // how many are to be taken
	n     int
	open  uint64
	links [maxLaid]uint64 // by device: those it is linked to
	// numa and adapter are, by device, the bit of its memory node and of its
	// nearest adapter, which stands for a switch of the host's bus. Unknown
	// ones are all alike.
	numa, adapter [maxLaid]uint64
	// blocks are aligned pairs and quads of which every device is open.
	blocks  [maxLaid]uint64
	nblocks int

	best  uint64
	least harm
}

const (
	// maxLaid is the most open devices that are compared set by set.
	maxLaid = 64
	// mostSets bounds how many sets are compared; any choice among 16 devices
	// stays below it. Where there are more, only neighbours are.
	mostSets = 13_000
)

// harm is what is bad about a set of devices, the worst first.
type harm struct {
	unlinked int // pairs within the set that are not linked
	numas    int // memory nodes it touches
	adapters int // adapters it is near
	broken   int // aligned quads and pairs that were whole and are not any more
	cut      int // links from the set to devices that stay free
}

func (h harm) less(o harm) bool {
	switch {
	case h.unlinked != o.unlinked:
		return h.unlinked < o.unlinked
	case h.numas != o.numas:
		return h.numas < o.numas
	case h.adapters != o.adapters:
		return h.adapters < o.adapters
	case h.broken != o.broken:
		return h.broken < o.broken
	}
	return h.cut < o.cut
}

// lay works out the layout of devices in order of index.
func lay(open []*inventory.Device, count int) *layout {
	l := &layout{count: count, n: len(open), least: harm{unlinked: 1 << 30}}
	for i, d := range open {
		l.open |= 1 << i
		for k, o := range open {
			if linked(d, o) {
				l.links[i] |= 1 << k
			}
		}
		l.numa[i], l.adapter[i] = 1<<i, 1<<i
		for k, o := range open[:i] {
			if o.NUMA == d.NUMA {
				l.numa[i] = l.numa[k]
			}
			if o.NearestNIC == d.NearestNIC {
				l.adapter[i] = l.adapter[k]
			}
		}
	}
	l.layBlocks(open, 4)
	l.layBlocks(open, 2)
	return l
}

func linked(a, b *inventory.Device) bool {
	for _, peer := range a.NVLinkPeers {
		if peer == b.Index {
			return true
		}
	}
	return false
}

func (l *layout) layBlocks(open []*inventory.Device, size int) {
	for at := 0; at+size <= len(open); at++ {
		if first := open[at].Index; first%size == 0 && open[at+size-1].Index == first+size-1 && l.nblocks < maxLaid {
			l.blocks[l.nblocks] = (1<<size - 1) << at
			l.nblocks++
		}
	}
}

// together picks the set with the least harm: devices that are linked to each
// other, then at one memory node, then near one adapter, then such that aligned
// quads and pairs stay whole, then with few links to what stays free. The
// lowest devices break ties. It compares every set that could be better.
func (l *layout) together() uint64 {
	if l.count == l.n {
		return l.open
	}
	if sets(l.n, l.count) <= mostSets {
		l.extend(0, 0, harm{}, 0, 0)
		return l.best
	}
	for at := 0; at+l.count <= l.n; at++ {
		l.extendOnly(at)
	}
	return l.best
}

// extendOnly compares one run of neighbours.
func (l *layout) extendOnly(at int) {
	var set, numas, adapters uint64
	h := harm{}
	for i := at; i < at+l.count; i++ {
		h.unlinked += bits.OnesCount64(set &^ l.links[i])
		set, numas, adapters = set|1<<i, numas|l.numa[i], adapters|l.adapter[i]
	}
	h.numas, h.adapters = bits.OnesCount64(numas), bits.OnesCount64(adapters)
	l.compare(set, h)
}

// sets is how many sets of count there are among n, or more than mostSets.
func sets(n, count int) int {
	out := 1
	for i := 1; i <= count; i++ {
		if out = out * (n - count + i) / i; out > mostSets {
			return out
		}
	}
	return out
}

// extend adds devices from one on. What it prunes grows with every device: the
// rest of harm is known only when the set is whole.
func (l *layout) extend(from int, set uint64, h harm, numas, adapters uint64) {
	left := l.count - bits.OnesCount64(set)
	if left == 0 {
		l.compare(set, h)
		return
	}
	for i := from; i+left <= l.n; i++ {
		next := h
		next.unlinked += bits.OnesCount64(set &^ l.links[i])
		numa, adapter := numas|l.numa[i], adapters|l.adapter[i]
		next.numas, next.adapters = bits.OnesCount64(numa), bits.OnesCount64(adapter)
		if l.least.less(next) {
			continue
		}
		l.extend(i+1, set|1<<i, next, numa, adapter)
	}
}

func (l *layout) compare(set uint64, h harm) {
	for _, b := range l.blocks[:l.nblocks] {
		if b&set != 0 && b&^set != 0 {
			h.broken++
		}
	}
	for rest := set; rest != 0; rest &= rest - 1 {
		h.cut += bits.OnesCount64(l.links[bits.TrailingZeros64(rest)] & l.open &^ set)
	}
	if h.less(l.least) {
		l.best, l.least = set, h
	}
}
