package placement

import (
	"cmp"
	"math/bits"
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
	out := make([]inventory.DeviceShare, 0, q.need.devices)
	if len(q.h.devices) > maxLaid {
		for _, d := range window(q.open(), q.need.devices) {
			out = append(out, inventory.DeviceShare{Index: d.Index})
		}
		return out
	}
	var open uint64
	for i := range q.h.devices {
		if q.reach(&q.h.devices[i]) == roomy {
			open |= 1 << i
		}
	}
	if bits.OnesCount64(open) > q.need.devices {
		open = q.land.topology(q.h).together(open, q.need.devices)
	}
	for ; open != 0; open &= open - 1 {
		out = append(out, inventory.DeviceShare{Index: q.h.devices[bits.TrailingZeros64(open)].index})
	}
	slices.SortFunc(out, func(a, b inventory.DeviceShare) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

// open lists the devices that pass every question, in order of index.
func (q *query) open() []*inventory.Device {
	out := make([]*inventory.Device, 0, len(q.h.devices))
	for i := range q.h.devices {
		if d := &q.h.devices[i]; q.reach(d) == roomy {
			out = append(out, d.of)
		}
	}
	slices.SortStableFunc(out, func(a, b *inventory.Device) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

// window is the first run of neighbours, aligned to their number where there is
// one: of a node with more devices than are compared set by set.
func window(open []*inventory.Device, count int) []*inventory.Device {
	for at := 0; at+count <= len(open); at++ {
		if first := open[at].Index; first%count == 0 && open[at+count-1].Index == first+count-1 {
			return open[at : at+count]
		}
	}
	return open[:count]
}
