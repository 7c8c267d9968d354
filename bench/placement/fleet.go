package main

import (
	"math/rand/v2"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// fleet is the scheduler under test with the world it decides on.
type fleet struct {
	placer placement.Placer
	world  *inventory.Snapshot
}

func newFleet(placer placement.Placer, nodes []*inventory.Node) *fleet {
	return &fleet{placer: placer, world: inventory.NewSnapshot(1, nodes)}
}

var noChance *rand.Rand

func (f *fleet) choose(req placement.Request) (placement.Candidate, bool) {
	d, _ := f.placer.Choose(f.world, req, noChance)
	return d.Candidate, d.Placed
}

func (f *fleet) with(as []inventory.Allocation) { f.world = f.world.With(as...) }

func (f *fleet) without(replica string) { f.world = f.world.Without(replica) }

// put replaces one node.
func (f *fleet) put(n *inventory.Node) {
	nodes := append([]*inventory.Node{}, f.world.Nodes()...)
	for i, o := range nodes {
		if o.ID == n.ID {
			nodes[i] = n
		}
	}
	f.world = inventory.NewSnapshot(1, nodes)
}

func (f *fleet) node(id inventory.NodeID) *inventory.Node { return f.world.Node(id) }

// host fills in a node's cores and memory such that all of it can be given out:
// the reserve for the system comes on top.
func host(f *inventory.Facts, cores int, memoryMB int64) {
	f.CPUs, f.ReserveCPUs = cores+1, 1
	f.MemoryMB, f.ReserveMB = memoryMB+1, 1
}
