package placement_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// TestDevicesDifferential compares the devices that are taken on 10,000 generated
// topologies, and 50,000 in long runs, with the best of all sets of that size.
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
			b := boardOf(n, open)
			t.Fatalf("seed %d: want %v of %v, harm %v, got %v, harm %v\n%+v", seed, want, open, b.badness(want), got, b.badness(got), n.Facts.Devices)
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
	b := boardOf(n, open)
	var visit func(from int, set []int)
	visit = func(from int, set []int) {
		if len(set) == count {
			if h := b.badness(set); best == nil || slices.Compare(h[:], least[:]) < 0 {
				best, least = slices.Clone(set), h
			}
			return
		}
		for i := from; i < len(open); i++ {
			visit(i+1, append(set, open[i]))
		}
	}
	visit(0, make([]int, 0, count))
	return best
}

// harms is how many kinds of harm there are.
const harms = 7

// board is what a node tells of its devices, by index, in the plainest form.
type board struct {
	size                  int
	linked                [16][16]bool
	root, numa, near, far [16]int // numbers of roots, memory nodes and adapters; ranks of paths
	open                  [16]bool
}

func boardOf(n *inventory.Node, open []int) *board {
	b := &board{size: len(n.Facts.Devices)}
	numbers := map[string]int{}
	number := func(name string) int {
		if _, known := numbers[name]; !known {
			numbers[name] = len(numbers)
		}
		return numbers[name]
	}
	for _, d := range n.Facts.Devices {
		for _, o := range d.NVLinkPeers {
			b.linked[d.Index][o] = true
		}
		adapter := d.NearestNIC
		if d.NICPath == "SYS" {
			adapter = ""
		}
		b.root[d.Index], b.numa[d.Index], b.near[d.Index] = number("root "+d.PCIRoot), number(fmt.Sprint("numa ", d.NUMA)), number("adapter "+adapter)
		b.far[d.Index] = map[string]int{"PIX": 0, "PXB": 1, "PHB": 2, "NODE": 3, "SYS": 4, "": 4}[d.NICPath]
	}
	for _, i := range open {
		b.open[i] = true
	}
	return b
}

// badness says in the plainest way what is bad about a set: pairs that are not
// linked, roots of the bus, memory nodes, adapters, broken blocks, links that
// are cut, how far the adapters are.
func (b *board) badness(set []int) [harms]int {
	var out [harms]int
	var in [16]bool
	for _, i := range set {
		in[i] = true
	}
	var roots, numas, adapters uint64
	for at, i := range set {
		roots, numas, adapters = roots|1<<b.root[i], numas|1<<b.numa[i], adapters|1<<b.near[i]
		out[6] += b.far[i]
		for _, o := range set[:at] {
			if !b.linked[i][o] {
				out[0]++
			}
		}
		for o := range b.size {
			if b.linked[i][o] && b.open[o] && !in[o] {
				out[5]++
			}
		}
	}
	out[1], out[2], out[3] = bits.OnesCount64(roots), bits.OnesCount64(numas), bits.OnesCount64(adapters)
	out[4] = b.broken(2, &in) + b.broken(4, &in)
	return out
}

// broken counts the aligned blocks that were whole and are not any more.
func (b *board) broken(size int, in *[16]bool) int {
	out := 0
	for first := 0; first+size <= b.size; first += size {
		whole, taken := true, 0
		for i := first; i < first+size; i++ {
			whole = whole && b.open[i]
			if in[i] {
				taken++
			}
		}
		if whole && taken > 0 && taken < size {
			out++
		}
	}
	return out
}
