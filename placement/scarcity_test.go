package placement_test

import (
	"math"
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// TestScarceKindsAreLeft shows that a request that takes any device loses more
// where others ask for the kind by name, and takes that kind when there is no
// other.
func TestScarceKindsAreLeft(t *testing.T) {
	t.Parallel()
	world := parse(t, "a gpu=4xH100-80", "b gpu=4xA100-80")
	named, open := onDevices(1, "H100-80"), onDevices(1, "")
	named.Name = "named"
	index := placement.NewIndex(placement.Placer{})
	for _, c := range []struct {
		named float64
		want  map[inventory.NodeID]float64
	}{
		// All that is asked for spreads evenly: 0.15 devices for 300 seconds.
		{0, map[inventory.NodeID]float64{"a": -45, "b": -45}},
		// Of ten requests nine want half of the devices, and the tenth any.
		{9, map[inventory.NodeID]float64{"a": -85.5, "b": -4.5}},
	} {
		mix := placement.Mix{Version: 1 + uint64(c.named), Parts: []placement.MixPart{{Model: open, Weight: 1}, {Model: named, Weight: c.named}}}
		index.SetMix(mix)
		index.Advance(world)
		_, trace := index.Explain(placement.Request{Model: open})
		for _, s := range trace.Profiles[0].Best {
			if got := s.Parts["scarce"]; math.Abs(got-c.want[s.Node]) > 1e-9 {
				t.Errorf("weight %v, node %s: want %v, got %v", c.named, s.Node, c.want[s.Node], got)
			}
		}
	}
	index.Update(index.Node("b").With(whole("b", 4)...))
	if d, _ := index.Choose(placement.Request{Model: open}); d.Candidate.Spots[0].Node != "a" {
		t.Errorf("want the scarce one where there is no other, got %v", d)
	}
}

// TestScarcityFollowsTheFleet shows that an index judges nodes that have not
// changed by what others became.
func TestScarcityFollowsTheFleet(t *testing.T) {
	t.Parallel()
	world := parse(t, "a gpu=4xH100-80 cordoned", "b gpu=4xA100-80", "c gpu=4xA100-80", "d gpu=4xH100-80")
	labelled := func(n inventory.Node, labels map[string]string) *inventory.Node {
		n.Facts.Labels = labels
		return &n
	}
	open, gold := onDevices(1, ""), onDevices(1, "")
	gold.Name, gold.Profiles[0].Labels = "gold", map[string]string{"tier": "gold"}
	index := placement.NewIndex(placement.Placer{Mix: placement.Mix{Parts: []placement.MixPart{{Model: open, Weight: 1}, {Model: gold, Weight: 9}}}})
	index.Advance(world)
	index.Update(labelled(*index.Node("a"), map[string]string{"tier": "gold"}))
	ask := func() inventory.NodeID {
		d, _ := index.Choose(placement.Request{Model: open})
		return d.Candidate.Spots[0].Node
	}
	if got := ask(); got != "b" {
		t.Errorf("want the first of the kind that only few ask for, got %s", got)
	}
	index.Update(labelled(*index.Node("a"), nil))
	index.Update(labelled(*index.Node("b"), map[string]string{"tier": "gold"}))
	if got := ask(); got != "d" {
		t.Errorf("want the kind that is not asked for any more, got %s", got)
	}
}

// whole are so many devices of a node, each given to a replica.
func whole(node inventory.NodeID, devices int) []inventory.Allocation {
	var out []inventory.Allocation
	for i := range devices {
		shard := "x-" + string(rune('a'+i))
		out = append(out, inventory.Allocation{
			Shard: shard + ".0", Replica: shard, Model: "x", Node: node, Devices: []inventory.DeviceShare{{Index: i}},
		})
	}
	return out
}
