package placement

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"

	"llmgw.io/llmgw/inventory"
)

// topology is how the devices of a host lie to each other, as sets of bits: bit
// i is the i-th device in order of index.
type topology struct {
	order []int // places in the host's list
	// links are, by device, those it is linked to.
	links []uint64
	// roots, numas and adapters are, by device, the bit of its bus's root, of its
	// memory node and of its nearest adapter. Unknown ones are all alike.
	roots, numas, adapters []uint64
	// far is, by device, the rank of the path to its nearest adapter.
	far []int
	// blocks are aligned quads and pairs.
	blocks []uint64
	// picked remembers answers, at most mostPicked of them.
	picked map[choice]uint64
}

// choice is so many of the open devices.
type choice struct {
	open  uint64
	count int
}

const (
	// maxLaid is the most devices of which sets are compared.
	maxLaid = 64
	// mostSets bounds how many sets are compared; any choice among 16 devices
	// stays below it. Where there are more, only neighbours are.
	mostSets = 13_000
	// mostPicked bounds what a topology remembers.
	mostPicked = 1024
)

// topology is a host's, worked out when it is first asked for. Hosts whose
// devices lie alike have one between them, with what was picked on it.
func (l *landscape) topology(h *host) *topology {
	if h.topo != nil {
		return h.topo
	}
	key := l.layout[:0]
	for i := range h.devices {
		d := h.devices[i].of
		key = strconv.AppendInt(key, int64(d.Index), 10)
		key = strconv.AppendInt(append(key, '@'), int64(d.NUMA), 10)
		for _, peer := range d.NVLinkPeers {
			key = strconv.AppendInt(append(key, '-'), int64(peer), 10)
		}
		key = strconv.AppendQuote(strconv.AppendQuote(key, d.PCIRoot), d.NearestNIC)
		key = append(strconv.AppendInt(key, int64(pathRank(d.NICPath)), 10), ' ')
	}
	l.layout = key
	t := l.topologies[string(key)]
	if t == nil {
		t = topologyOf(h)
		l.topologies[string(key)] = t
	}
	h.topo = t
	return t
}

// topologyOf works out the topology of a host's devices.
func topologyOf(h *host) *topology {
	n := len(h.devices)
	bits, places := make([]uint64, 4*n), make([]int, 2*n)
	t := &topology{
		order: places[:n], far: places[n:], picked: map[choice]uint64{},
		links: bits[:n], roots: bits[n : 2*n], numas: bits[2*n : 3*n], adapters: bits[3*n:],
	}
	for i := range t.order {
		t.order[i] = i
	}
	device := func(i int) *inventory.Device { return h.devices[t.order[i]].of }
	slices.SortStableFunc(t.order, func(a, b int) int { return cmp.Compare(h.devices[a].of.Index, h.devices[b].of.Index) })
	for i := range n {
		t.far[i] = pathRank(device(i).NICPath)
		for k := range n {
			if linked(device(i), device(k)) {
				t.links[i] |= 1 << k
			}
		}
		t.roots[i] = firstLike(i, func(k int) bool { return device(k).PCIRoot == device(i).PCIRoot })
		t.numas[i] = firstLike(i, func(k int) bool { return device(k).NUMA == device(i).NUMA })
		t.adapters[i] = firstLike(i, func(k int) bool { return adapter(device(k)) == adapter(device(i)) })
	}
	t.align(device)
	return t
}

// firstLike is the bit of the first device that is like the i-th, itself at last.
func firstLike(i int, like func(k int) bool) uint64 {
	k := 0
	for !like(k) {
		k++
	}
	return 1 << min(k, i)
}

// align finds the aligned quads and pairs.
func (t *topology) align(device func(i int) *inventory.Device) {
	n := len(t.order)
	for _, size := range []int{4, 2} {
		for at := 0; at+size <= n; at++ {
			if first := device(at).Index; first%size == 0 && device(at+size-1).Index == first+size-1 {
				t.blocks = append(t.blocks, (1<<size-1)<<at)
			}
		}
	}
}

func linked(a, b *inventory.Device) bool { return slices.Contains(a.NVLinkPeers, b.Index) }

// paths are the ranks of a path to an adapter, the nearest first, as the
// driver's tool names them.
var paths = [...]string{"PIX", "PXB", "PHB", "NODE", "SYS"}

// pathRank is a path's rank; one that is not known is as far as any.
func pathRank(path string) int {
	if rank := slices.Index(paths[:], path); rank >= 0 {
		return rank
	}
	return len(paths) - 1
}

// adapter is the one a device is near. One that is reached only across memory
// nodes was named for lack of another: it says nothing about where the device is.
func adapter(d *inventory.Device) string {
	if d.NICPath == paths[len(paths)-1] {
		return ""
	}
	return d.NearestNIC
}

// harm is what is bad about a set of devices, the worst first.
type harm struct {
	unlinked int // pairs within the set that are not linked
	roots    int // roots of the bus it touches
	numas    int // memory nodes it touches
	adapters int // adapters it is near
	broken   int // aligned quads and pairs that were whole and are not any more
	cut      int // links from the set to devices that stay free
	far      int // ranks of the paths to adapters, summed
}

func (h harm) less(o harm) bool {
	switch {
	case h.unlinked != o.unlinked:
		return h.unlinked < o.unlinked
	case h.roots != o.roots:
		return h.roots < o.roots
	case h.numas != o.numas:
		return h.numas < o.numas
	case h.adapters != o.adapters:
		return h.adapters < o.adapters
	case h.broken != o.broken:
		return h.broken < o.broken
	case h.cut != o.cut:
		return h.cut < o.cut
	}
	return h.far < o.far
}

// together picks so many of the open devices, as places in the host's list: see
// pick.
func (t *topology) together(open uint64, count int) uint64 {
	asked := choice{open, count}
	out, known := t.picked[asked]
	if known {
		return out
	}
	var ordered uint64
	for i, at := range t.order {
		ordered |= (open >> at & 1) << i
	}
	for set := t.pick(ordered, count); set != 0; set &= set - 1 {
		out |= 1 << t.order[bits.TrailingZeros64(set)]
	}
	if len(t.picked) == mostPicked {
		clear(t.picked)
	}
	t.picked[asked] = out
	return out
}

// pick picks so many of the open devices, such that the harm is least:
// linked to each other, then behind one root, then at one memory node, then
// near one adapter, then such that aligned quads and pairs stay whole, then with
// few links to what stays free, then with short paths to adapters. The lowest
// devices break ties. It compares every set that could be better.
func (t *topology) pick(open uint64, count int) uint64 {
	n := bits.OnesCount64(open)
	if count >= n {
		return open
	}
	s := search{topology: t, open: open, count: count, least: harm{unlinked: 1 << 30}}
	if sets(n, count) <= mostSets {
		s.extend(open, part{})
	} else {
		s.runs()
	}
	return s.best
}

// search looks for the best set of devices.
type search struct {
	*topology
	open  uint64
	count int
	best  uint64
	least harm
}

// part is a set in the making.
type part struct {
	set, roots, numas, adapters uint64
	harm                        harm
}

func (t *topology) with(p part, i int) part {
	p.harm.unlinked += bits.OnesCount64(p.set &^ t.links[i])
	p.harm.far += t.far[i]
	p.set, p.roots, p.numas, p.adapters = p.set|1<<i, p.roots|t.roots[i], p.numas|t.numas[i], p.adapters|t.adapters[i]
	p.harm.roots, p.harm.numas, p.harm.adapters = bits.OnesCount64(p.roots), bits.OnesCount64(p.numas), bits.OnesCount64(p.adapters)
	return p
}

// extend adds one of the devices in rest. What it prunes by grows with every
// device; the other harm is known only when the set is whole.
func (s *search) extend(rest uint64, p part) {
	left := s.count - bits.OnesCount64(p.set)
	if left == 0 {
		s.compare(p)
		return
	}
	for ; bits.OnesCount64(rest) >= left; rest &= rest - 1 {
		if next := s.with(p, bits.TrailingZeros64(rest)); !s.least.less(next.harm) {
			s.extend(rest&(rest-1), next)
		}
	}
}

// runs compares only runs of neighbours.
func (s *search) runs() {
	for first := s.open; bits.OnesCount64(first) >= s.count; first &= first - 1 {
		p, rest := part{}, first
		for range s.count {
			p = s.with(p, bits.TrailingZeros64(rest))
			rest &= rest - 1
		}
		s.compare(p)
	}
}

func (s *search) compare(p part) {
	for _, b := range s.blocks {
		if b&^s.open == 0 && b&p.set != 0 && b&^p.set != 0 {
			p.harm.broken++
		}
	}
	for rest := p.set; rest != 0; rest &= rest - 1 {
		p.harm.cut += bits.OnesCount64(s.links[bits.TrailingZeros64(rest)] & s.open &^ p.set)
	}
	if p.harm.less(s.least) {
		s.best, s.least = p.set, p.harm
	}
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
