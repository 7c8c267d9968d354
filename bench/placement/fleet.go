package main

import (
	"fmt"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// fleet is the scheduler under test with the world it decides on.
type fleet struct {
	index *placement.Index
	// where are the nodes of every replica.
	where map[string][]inventory.NodeID
}

func newFleet(placer placement.Placer, nodes []*inventory.Node) *fleet {
	f := &fleet{index: placement.NewIndex(placer), where: map[string][]inventory.NodeID{}}
	f.index.Advance(inventory.NewSnapshot(1, nodes))
	return f
}

func (f *fleet) choose(req placement.Request) (placement.Candidate, bool) {
	d, _ := f.index.Choose(req)
	return d.Candidate, d.Placed
}

func (f *fleet) with(as []inventory.Allocation) {
	for _, a := range as {
		f.where[a.Replica] = append(f.where[a.Replica], a.Node)
	}
	f.index.With(as...)
}

func (f *fleet) without(replica string) {
	f.index.Without(replica, f.where[replica]...)
	delete(f.where, replica)
}

// change replaces one node by an edited copy.
func (f *fleet) change(id inventory.NodeID, edit func(*inventory.Node)) error {
	n := *f.index.Node(id)
	edit(&n)
	n.Version++
	if !f.index.Update(&n) {
		return fmt.Errorf("node %s is not known", id)
	}
	return nil
}

// host fills in a node's cores and memory such that all of it can be given out:
// the reserve for the system comes on top.
func host(f *inventory.Facts, cores int, memoryMB int64) {
	f.CPUs, f.ReserveCPUs = cores+1, 1
	f.MemoryMB, f.ReserveMB = memoryMB+1, 1
}
