package reconciler

import (
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// Claims are the room that the plan takes, and the versions of the nodes that it
// rests on, as a registry's compare-and-set takes them. None: it places nothing.
func (p *Plan) Claims() (map[inventory.NodeID]uint64, []inventory.Allocation) {
	var as []inventory.Allocation
	versions := map[inventory.NodeID]uint64{}
	for i := range p.Actions {
		a := &p.Actions[i]
		if a.Kind != Place {
			continue
		}
		for k := range a.Replica.Shards {
			spot := a.Replica.Shards[k].Spot
			as = append(as, spot)
			versions[spot.Node] = a.Versions[k]
		}
	}
	return versions, as
}

// Holds reports whether every placement of the plan holds on a newer fleet, and
// on which versions it rests then.
func (p *Plan) Holds(by placement.Placer, fleet *inventory.Snapshot, index *catalog.Index) (map[inventory.NodeID]uint64, bool) {
	versions := map[inventory.NodeID]uint64{}
	for i := range p.Actions {
		a := &p.Actions[i]
		if a.Kind != Place {
			continue
		}
		entry, ok := index.Get(a.Replica.Model)
		if !ok {
			return nil, false
		}
		c := placement.Candidate{Profile: a.Replica.Profile.Name}
		var as []inventory.Allocation
		for k := range a.Replica.Shards {
			s := &a.Replica.Shards[k].Spot
			n := fleet.Node(s.Node)
			if n == nil {
				return nil, false
			}
			versions[n.ID] = n.Version
			as = append(as, *s)
			c.Spots = append(c.Spots, placement.Spot{
				Node: n.ID, Devices: s.Devices, MemoryMB: s.MemoryMB, Cores: s.Cores, DiskMB: s.DiskMB, NodeVersion: n.Version,
			})
		}
		if why, _ := by.Verify(fleet, Request(index, &entry.Model), c); why != "" {
			return nil, false
		}
		fleet = fleet.With(as...)
	}
	return versions, true
}
