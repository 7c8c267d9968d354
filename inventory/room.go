package inventory

import "math"

// SystemReserve is what is kept of the host for its system and never given
// out: what the agent says, else 4 GiB or 5 % of the memory and 2 cores or
// 10 %, the smaller of each. What is not known has no reserve.
func (n *Node) SystemReserve() (memoryMB int64, cores int) {
	f := &n.Facts
	memoryMB, cores = f.ReserveMB, f.ReserveCPUs
	if memoryMB == 0 {
		memoryMB = min(4096, f.MemoryMB/20)
	}
	if cores == 0 {
		cores = min(2, int(math.Round(float64(f.CPUs)/10)))
	}
	return memoryMB, cores
}

// FreeMemoryMB is the host memory that may still be reserved, in MiB. It is
// negative when more was given out than there is. known is false when the agent
// did not say how much there is, which is not the same as none.
func (n *Node) FreeMemoryMB() (mb int64, known bool) {
	if n.Facts.MemoryMB == 0 {
		return 0, false
	}
	reserve, _ := n.SystemReserve()
	mb = n.Facts.MemoryMB - reserve
	for i := range n.Allocations {
		mb -= n.Allocations[i].MemoryMB
	}
	return mb, true
}

// FreeCores is the number of cores that may still be reserved. It is negative
// when more were given out than there are; known is false when the agent did
// not say.
func (n *Node) FreeCores() (cores int, known bool) {
	if n.Facts.CPUs == 0 {
		return 0, false
	}
	_, reserve := n.SystemReserve()
	cores = n.Facts.CPUs - reserve
	for i := range n.Allocations {
		cores -= n.Allocations[i].Cores
	}
	return cores, true
}

// FreeDiskMB is the disk that may still be promised, in MiB: what is free, less
// what shards will write that have not got their weights yet. The weights of
// those that have are part of what is no longer free. known is false when the
// agent did not say.
func (n *Node) FreeDiskMB() (mb int64, known bool) {
	if n.Facts.DiskTotalMB == 0 && n.Facts.DiskFreeMB == 0 {
		return 0, false
	}
	mb = n.Facts.DiskFreeMB
	for i := range n.Allocations {
		if a := &n.Allocations[i]; a.DiskMB > 0 && !n.hasWeights(a.Shard) {
			mb -= a.DiskMB
		}
	}
	return mb, true
}

// hasWeights reports whether a shard is past fetching.
func (n *Node) hasWeights(shard string) bool {
	for i := range n.Shards {
		if s := &n.Shards[i]; s.ID == shard {
			return s.State == ShardStarting || s.State == ShardReady || s.State == ShardDraining
		}
	}
	return false
}

// DeviceUse is what is allocated of one device.
type DeviceUse struct {
	// Whole counts allocations of the whole device; more than one is a mistake.
	Whole int
	// Shares counts those of a part, SharedMB is their memory in MiB.
	Shares   int
	SharedMB int64
}

// Free reports whether nothing is allocated.
func (u DeviceUse) Free() bool { return u.Whole == 0 && u.Shares == 0 }

// DeviceUse sums what is allocated of the device with an index.
func (n *Node) DeviceUse(index int) DeviceUse {
	var u DeviceUse
	for i := range n.Allocations {
		for _, share := range n.Allocations[i].Devices {
			switch {
			case share.Index != index:
			case share.MemoryMB == 0:
				u.Whole++
			default:
				u.Shares++
				u.SharedMB += share.MemoryMB
			}
		}
	}
	return u
}

// Device finds a device by its index.
func (n *Node) Device(index int) (Device, bool) {
	for i := range n.Facts.Devices {
		if n.Facts.Devices[i].Index == index {
			return n.Facts.Devices[i], true
		}
	}
	return Device{}, false
}

// ShareableMB is the memory of a device that may still be reserved by those who
// share it, in MiB: what there is, less what foreign processes use and what is
// reserved. It is negative when there is less than that, and zero when someone
// has the device whole. known is false when the agent did not say how much
// memory the device has.
func (n *Node) ShareableMB(d Device) (mb int64, known bool) {
	use := n.DeviceUse(d.Index)
	if use.Whole > 0 {
		return 0, true
	}
	if d.MemoryMB == 0 {
		return 0, false
	}
	return d.MemoryMB - d.ForeignMB - use.SharedMB, true
}
