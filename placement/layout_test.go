package placement_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// TestDevicesDifferential compares the devices that are taken on generated
// topologies with the best of all sets of that size.
func TestDevicesDifferential(t *testing.T) {
	t.Parallel()
	for seed := range uint64(bruteSeeds) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n := topology(rng)
		count := 1 + rng.IntN(len(n.Facts.Devices))
		d, _ := placement.Placer{}.Choose(inventory.NewSnapshot(1, []*inventory.Node{n}), placement.Request{Model: onDevices(count, "")}, nil)
		open := openOf(n)
		if d.Placed != (len(open) >= count) {
			t.Fatalf("seed %d: %d of %d open devices are asked for, placed: %v", seed, count, len(open), d.Placed)
		}
		if !d.Placed {
			continue
		}
		var got []int
		for _, s := range d.Candidate.Spots[0].Devices {
			got = append(got, s.Index)
		}
		if want := bruteForce(n, open, count); !slices.Equal(got, want) {
			t.Fatalf("seed %d: want %v of %v, harm %v, got %v, harm %v\n%+v", seed, want, open, badness(n, open, want), got, badness(n, open, got), n.Facts.Devices)
		}
	}
}

// topology is a node of up to 16 devices: linked all to all, in groups, in a
// mesh, or not at all; at some roots of the bus, memory nodes and adapters, near
// or far; a part of them taken.
func topology(rng *rand.Rand) *inventory.Node {
	n := &inventory.Node{ID: "a", Hearing: inventory.Heard, Version: 1}
	size := 1 + rng.IntN(16)
	links, roots, numas, adapters := rng.IntN(5), rng.IntN(5), 1+rng.IntN(3), 1+rng.IntN(5)
	paths := []string{"PIX", "PXB", "PHB", "NODE", "SYS", ""}[rng.IntN(5):]
	for i := range size {
		d := inventory.Device{Index: i, Label: strconv.Itoa(i), Class: "X", NUMA: i * numas / size, NearestNIC: fmt.Sprint("mlx5_", i*adapters/size), NICPath: paths[rng.IntN(len(paths))]}
		if roots > 0 && rng.IntN(20) > 0 {
			d.PCIRoot = fmt.Sprintf("0000:%02x", i*roots/size)
		}
		for o := range size {
			switch near := map[int]bool{1: true, 2: i/2 == o/2, 3: i/4 == o/4, 4: i/4 == o/4 || i%4 == o%4}[links]; {
			case o != i && near:
				d.NVLinkPeers = append(d.NVLinkPeers, o)
			}
		}
		if rng.IntN(12) == 0 {
			d.Problem = "is broken"
		}
		n.Facts.Devices = append(n.Facts.Devices, d)
		if rng.IntN(4) == 0 {
			n.Allocations = append(n.Allocations, inventory.Allocation{Shard: fmt.Sprintf("x-%02d.0", i), Replica: "x", Model: "x", Node: "a", Devices: []inventory.DeviceShare{{Index: i}}})
		}
	}
	if rng.IntN(4) == 0 {
		slices.Reverse(n.Facts.Devices) // the order of the list says nothing
	}
	return n
}

func openOf(n *inventory.Node) []int {
	var out []int
	for _, d := range n.Facts.Devices {
		if d.Healthy() && n.DeviceUse(d.Index).Free() {
			out = append(out, d.Index)
		}
	}
	slices.Sort(out)
	return out
}

// bruteForce looks at every set, in lexical order.
func bruteForce(n *inventory.Node, open []int, count int) []int {
	var best []int
	var least [harms]int
	var visit func(from int, set []int)
	visit = func(from int, set []int) {
		if len(set) == count {
			if h := badness(n, open, set); best == nil || slices.Compare(h[:], least[:]) < 0 {
				best, least = slices.Clone(set), h
			}
			return
		}
		for i := from; i < len(open); i++ {
			visit(i+1, append(set, open[i]))
		}
	}
	visit(0, nil)
	return best
}

// harms is how many kinds of harm there are.
const harms = 7

// badness says in the plainest way what is bad about a set: pairs that are not
// linked, roots of the bus, memory nodes, adapters, broken blocks, links that
// are cut, how far the adapters are.
func badness(n *inventory.Node, open, set []int) [harms]int {
	var out [harms]int
	roots, numas, adapters := map[string]bool{}, map[int]bool{}, map[string]bool{}
	for at, i := range set {
		d, _ := n.Device(i)
		roots[d.PCIRoot], numas[d.NUMA] = true, true
		if d.NICPath == "SYS" {
			adapters[""] = true
		} else {
			adapters[d.NearestNIC] = true
		}
		if far := slices.Index([]string{"PIX", "PXB", "PHB", "NODE"}, d.NICPath); far >= 0 {
			out[6] += far
		} else {
			out[6] += 4
		}
		for _, o := range set[:at] {
			if !slices.Contains(d.NVLinkPeers, o) {
				out[0]++
			}
		}
		for _, o := range open {
			if slices.Contains(d.NVLinkPeers, o) && !slices.Contains(set, o) {
				out[5]++
			}
		}
	}
	out[1], out[2], out[3] = len(roots), len(numas), len(adapters)
	for _, size := range []int{2, 4} {
		for first := 0; first < len(n.Facts.Devices); first += size {
			there, taken := 0, 0
			for i := first; i < first+size; i++ {
				if slices.Contains(open, i) {
					there++
				}
				if slices.Contains(set, i) {
					taken++
				}
			}
			if there == size && taken > 0 && taken < size {
				out[4]++
			}
		}
	}
	return out
}
