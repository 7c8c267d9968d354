package placement

import (
	"llmgw.io/llmgw/inventory"
)

// host is what a node offers, worked out once for every state of the node, so
// that a question of many profiles does not walk its allocations again.
type host struct {
	node *inventory.Node
	pool string
	// memory, cores and disk may still be given out; keptMB and keptCores are
	// the system's.
	memory, cores, disk amount
	keptMB              int64
	keptCores           int
	devices             []device
	// untouched is how many devices are healthy and nobody's.
	untouched int
	// vacant says that all healthy devices are, and that there are some.
	vacant bool

	banks []bank
	// suits names, for each part of the mix, the profile with which the node
	// could serve it if it were empty: its place and one, or zero for none.
	suits []uint8
	// topo is how the devices lie to each other; nil until someone asks.
	topo *topology
	// domains are the networks and the NVLink domain the node is in, as numbers
	// of the landscape.
	domains []int32
}

// amount is a quantity that the node may not have told.
type amount struct {
	free, all int64
	known     bool
}

// share is the free part after something is taken; 1 where nothing is known.
func (a amount) share(take int64) float64 {
	if !a.known || a.all <= 0 {
		return 1
	}
	return max(0, float64(a.free-take)/float64(a.all))
}

// device is one of a host's, with what is given out of it. What questions ask
// most often is copied out of it, because it is large and lies elsewhere.
type device struct {
	of          *inventory.Device
	index       int
	memoryMB    int64
	foreignMB   int64
	nominalMB   int64
	sharedMB    int64
	shareableMB int64 // what those who share may still reserve; with memory known
	whole       int32 // allocations of all of it
	shares      int32 // and of parts
	capability  int32
	kind        int32 // its number in the measurer
	bank        int8
	capKnown    bool
	healthy     bool
}

func (d *device) unused() bool { return d.whole == 0 && d.shares == 0 }

// fill works the host out for a node. lasting says that more than what is
// placed there may have changed. It keeps the slices it has.
func (h *host) fill(n *inventory.Node, lasting bool) {
	h.node = n
	h.keptMB, h.keptCores = n.SystemReserve()
	h.memory = amount{all: n.Facts.MemoryMB - h.keptMB}
	h.cores = amount{all: int64(n.Facts.CPUs - h.keptCores)}
	h.memory.free, h.memory.known = n.FreeMemoryMB()
	cores, known := n.FreeCores()
	h.cores.free, h.cores.known = int64(cores), known
	h.disk.free, h.disk.known = n.FreeDiskMB()
	if lasting || len(h.devices) != len(n.Facts.Devices) {
		h.devices, h.topo, h.pool = h.devices[:0], nil, n.Pool()
		for i := range n.Facts.Devices {
			of := &n.Facts.Devices[i]
			d := device{of: of, index: of.Index, healthy: of.Healthy(), memoryMB: of.MemoryMB, foreignMB: of.ForeignMB, nominalMB: nominalMB(of)}
			c, known := capability(of.ComputeCapability)
			d.capability, d.capKnown = int32(c), known
			h.devices = append(h.devices, d)
		}
	}
	h.fillDevices(n)
}

// fillDevices works out what is given out of each device.
func (h *host) fillDevices(n *inventory.Node) {
	for i := range h.devices {
		d := &h.devices[i]
		d.of, d.whole, d.shares, d.sharedMB = &n.Facts.Devices[i], 0, 0, 0
	}
	for i := range n.Allocations {
		for _, share := range n.Allocations[i].Devices {
			if d := h.device(share.Index); d != nil {
				d.give(share)
			}
		}
	}
	h.untouched, h.vacant = 0, len(h.devices) > 0
	for i := range h.devices {
		d := &h.devices[i]
		if d.shareableMB = d.memoryMB - d.foreignMB - d.sharedMB; d.whole > 0 {
			d.shareableMB = 0
		}
		switch {
		case !d.healthy:
		case d.unused():
			h.untouched++
		default:
			h.vacant = false
		}
	}
	h.vacant = h.vacant && h.untouched > 0
}

func (d *device) give(share inventory.DeviceShare) {
	if share.MemoryMB == 0 {
		d.whole++
		return
	}
	d.shares++
	d.sharedMB += share.MemoryMB
}

// device finds one by the index that allocations name, which is its place in
// the list unless the agent says otherwise.
func (h *host) device(index int) *device {
	if index >= 0 && index < len(h.devices) && h.devices[index].index == index {
		return &h.devices[index]
	}
	for i := range h.devices {
		if h.devices[i].index == index {
			return &h.devices[i]
		}
	}
	return nil
}

// nominalMB is a whole device's size as people name it: drivers keep a few MiB
// for themselves, so that a card of 24 GiB says 24564 MiB.
func nominalMB(d *inventory.Device) int64 { return (d.MemoryMB + 1023) &^ 1023 }
