package placement

import (
	"cmp"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// evictee is a replica that could give way.
type evictee struct {
	Occupant
	rank   int
	harm   float64
	places []place
}

// place is what a replica has on one host.
type place struct {
	at      int32
	devices int
}

// locate finds where the candidates stand and what each is worth, and puts them
// in order.
func (e *eviction) locate() {
	numbers := make(map[string]int, len(e.able))
	for i := range e.able {
		numbers[e.able[i].Replica] = i
	}
	for at := range e.x.land.hosts {
		h := &e.x.land.hosts[at]
		for k := range h.node.Allocations {
			a := &h.node.Allocations[k]
			if i, able := numbers[a.Replica]; able {
				e.able[i].stands(int32(at), len(a.Devices))
				e.able[i].harm += h.worth(a) * max(1, e.able[i].Seconds)
			}
		}
	}
	slices.SortFunc(e.able, func(a, b evictee) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.harm, b.harm), cmp.Compare(a.Replica, b.Replica))
	})
	e.on = make([][]int32, len(e.x.land.hosts))
	for i := range e.able {
		for _, p := range e.able[i].places {
			e.on[p.at] = append(e.on[p.at], int32(i))
		}
	}
}

// stands notes that a shard is on a host. Hosts come in order.
func (v *evictee) stands(at int32, devices int) {
	if last := len(v.places) - 1; last >= 0 && v.places[last].at == at {
		v.places[last].devices += devices
		return
	}
	v.places = append(v.places, place{at, devices})
}

// devicesAt is how many devices of a host it has.
func (v *evictee) devicesAt(at int32) int {
	for _, p := range v.places {
		if p.at == at {
			return p.devices
		}
	}
	return 0
}

// worth is the part of a host that an allocation has, in devices: the most of
// its devices, its memory and its cores.
func (h *host) worth(a *inventory.Allocation) float64 {
	devices := 0.0
	for _, share := range a.Devices {
		d := h.device(share.Index)
		if share.MemoryMB > 0 && d != nil && d.memoryMB > 0 {
			devices += float64(share.MemoryMB) / float64(d.memoryMB)
		} else {
			devices++
		}
	}
	whole := float64(max(1, len(h.devices)))
	if h.memory.known && h.memory.all > 0 {
		devices = max(devices, whole*float64(a.MemoryMB)/float64(h.memory.all))
	}
	if h.cores.known && h.cores.all > 0 {
		devices = max(devices, whole*float64(a.Cores)/float64(h.cores.all))
	}
	return devices
}
