package placement

import (
	"strconv"

	"llmgw.io/llmgw/inventory"
)

// Candidate is room for one replica: one spot per shard, the leading one first.
type Candidate struct {
	Profile string
	Spots   []Spot
}

// Spot is room for one shard on one node.
type Spot struct {
	Node     inventory.NodeID
	Devices  []inventory.DeviceShare
	MemoryMB int64
	Cores    int
	DiskMB   int64
	// NodeVersion is the version of the node the spot was found on; Verify and
	// the registry's compare-and-set look at it.
	NodeVersion uint64
}

// Allocation is what the spot occupies once it is given to a shard.
func (s Spot) Allocation(model, replica, shard string) inventory.Allocation {
	return inventory.Allocation{
		Shard: shard, Replica: replica, Model: model, Node: s.Node,
		Devices: s.Devices, MemoryMB: s.MemoryMB, Cores: s.Cores, DiskMB: s.DiskMB,
	}
}

// Allocations are what the candidate occupies once it is given to a replica:
// one per spot, whose shards are named by rank.
func (c Candidate) Allocations(model, replica string) []inventory.Allocation {
	out := make([]inventory.Allocation, len(c.Spots))
	for rank, s := range c.Spots {
		out[rank] = s.Allocation(model, replica, replica+"."+strconv.Itoa(rank))
	}
	return out
}

// Decision is the answer to a Request. Not placing is not an error: Placed is
// false then, and the trace says why.
type Decision struct {
	Placed    bool
	Candidate Candidate
}
