package placement

import (
	"cmp"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// take chooses devices on a host that every filter let pass.
func (q *query) take() []inventory.DeviceShare {
	if q.need.devices == 0 {
		return nil
	}
	if q.need.shared {
		at, _ := q.bestShare(q.h.freeCores(int64(q.need.cores)))
		return []inventory.DeviceShare{{Index: q.h.devices[at].of.Index, MemoryMB: q.need.deviceMB}}
	}
	open := q.open()
	out := make([]inventory.DeviceShare, 0, q.need.devices)
	for _, i := range together(open, q.need.devices) {
		out = append(out, inventory.DeviceShare{Index: open[i].Index})
	}
	return out
}

// open lists the devices that pass every question, in order of index.
func (q *query) open() []*inventory.Device {
	var out []*inventory.Device
	for i := range q.h.devices {
		if d := &q.h.devices[i]; q.reach(d) == roomy {
			out = append(out, d.of)
		}
	}
	slices.SortStableFunc(out, func(a, b *inventory.Device) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

// mostSets bounds how many sets of devices are compared. Any choice among 16
// devices stays below it.
const mostSets = 13000

// together picks count of the open devices, as positions in open: those that
// are linked to each other, then those at one memory node, then those that
// leave aligned quads and pairs whole, then the lowest. Where there are too
// many sets to compare, only neighbours are.
func together(open []*inventory.Device, count int) []int {
	if count == len(open) {
		return firstSet(count)
	}
	set, best := firstSet(count), firstSet(count)
	least := harmOf(open, set)
	next := nextSet
	if sets(len(open), count) > mostSets {
		next = nextWindow
	}
	for next(set, len(open)) {
		if h := harmOf(open, set); h.less(least) {
			least = h
			copy(best, set)
		}
	}
	return best
}

// harm is what is bad about a set of devices, the worst first.
type harm struct {
	unlinked int // pairs within the set that are not linked
	numas    int // memory nodes it touches
	broken   int // aligned quads and pairs that were whole and are not any more
	cut      int // links from the set to devices that stay free
}

func (h harm) less(o harm) bool {
	switch {
	case h.unlinked != o.unlinked:
		return h.unlinked < o.unlinked
	case h.numas != o.numas:
		return h.numas < o.numas
	case h.broken != o.broken:
		return h.broken < o.broken
	}
	return h.cut < o.cut
}

func harmOf(open []*inventory.Device, set []int) harm {
	var h harm
	in := func(pos int) bool { return slices.Contains(set, pos) }
	for i, a := range set {
		newNUMA := true
		for _, b := range set[:i] {
			newNUMA = newNUMA && open[a].NUMA != open[b].NUMA
			if !linked(open[a], open[b]) {
				h.unlinked++
			}
		}
		if newNUMA {
			h.numas++
		}
		for pos, d := range open {
			if !in(pos) && linked(open[a], d) {
				h.cut++
			}
		}
	}
	h.broken = brokenBlocks(open, in, 4) + brokenBlocks(open, in, 2)
	return h
}

// brokenBlocks counts aligned blocks of a size that were all open and of which
// a part is taken.
func brokenBlocks(open []*inventory.Device, in func(int) bool, size int) int {
	broken := 0
	for pos := 0; pos < len(open); {
		block, there, taken := open[pos].Index/size, 0, 0
		for ; pos < len(open) && open[pos].Index/size == block; pos++ {
			there++
			if in(pos) {
				taken++
			}
		}
		if there == size && taken > 0 && taken < size {
			broken++
		}
	}
	return broken
}

func linked(a, b *inventory.Device) bool { return slices.Contains(a.NVLinkPeers, b.Index) }

func firstSet(count int) []int {
	set := make([]int, count)
	for i := range set {
		set[i] = i
	}
	return set
}

// nextSet steps to the next set of positions below n in lexical order.
func nextSet(set []int, n int) bool {
	for i := len(set) - 1; i >= 0; i-- {
		if set[i] < n-len(set)+i {
			set[i]++
			for j := i + 1; j < len(set); j++ {
				set[j] = set[j-1] + 1
			}
			return true
		}
	}
	return false
}

// nextWindow steps to the next run of neighbours.
func nextWindow(set []int, n int) bool {
	if set[len(set)-1] == n-1 {
		return false
	}
	for i := range set {
		set[i]++
	}
	return true
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
