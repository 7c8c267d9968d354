package placement_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// TestDevicesDifferentialOnKnownMachines compares the devices that are taken on machines as
// there are with the best of all sets, with all of them free and with some.
func TestDevicesDifferentialOnKnownMachines(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/topologies/*.txt")
	if err != nil || len(paths) < 10 {
		t.Fatalf("want ten machines, got %v: %v", paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			machine := readTopology(t, path)
			for count := 1; count <= len(machine.Facts.Devices); count++ {
				takesBest(t, machine, count)
			}
			rng := rand.New(rand.NewPCG(uint64(len(path)), 6))
			for range 60 {
				n := *machine
				n.Allocations = nil
				for i := range n.Facts.Devices {
					if rng.IntN(3) == 0 {
						n.Allocations = append(n.Allocations, whole("a", i+1)[i])
					}
				}
				if open := len(openOf(&n)); open > 0 {
					takesBest(t, &n, 1+rng.IntN(open))
				}
			}
		})
	}
}

// takesBest holds what is taken of a node to the best of all sets.
func takesBest(t *testing.T, n *inventory.Node, count int) {
	t.Helper()
	d, _ := placement.Placer{}.Choose(inventory.NewSnapshot(1, []*inventory.Node{n}), placement.Request{Model: onDevices(count, "")}, nil)
	if !d.Placed {
		t.Fatalf("%d devices are asked for and find no room", count)
	}
	var got []int
	for _, s := range d.Candidate.Spots[0].Devices {
		got = append(got, s.Index)
	}
	open := openOf(n)
	if want := bruteForce(n, open, count); !slices.Equal(got, want) {
		b := boardOf(n, open)
		t.Errorf("want %v of %v, harm %v, got %v, harm %v", want, open, b.badness(want), got, b.badness(got))
	}
}

// readTopology makes a node of a map of links and paths, a row a device, as the
// driver's tool prints it: "NV4" is a link, and the adapter with the shortest
// path is the nearest.
func readTopology(t *testing.T, path string) *inventory.Node {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	head := strings.Split(lines[0], "\t")
	n := &inventory.Node{ID: "a", Hearing: inventory.Heard, Version: 1}
	for i, line := range lines[1:] {
		d := inventory.Device{Index: i, Label: strconv.Itoa(i), Class: "X", NUMA: -1}
		nearest := 0
		for at, cell := range strings.Split(line, "\t") {
			switch name := head[at]; {
			case strings.HasPrefix(name, "GPU") && strings.HasPrefix(cell, "NV"):
				d.NVLinkPeers = append(d.NVLinkPeers, at-1)
			case strings.HasPrefix(name, "NIC"):
				if rank := 1 + slices.Index([]string{"SYS", "NODE", "PHB", "PXB", "PIX"}, cell); rank > nearest {
					nearest, d.NearestNIC, d.NICPath = rank, name, cell
				}
			case name == "NUMA Affinity" && cell != "N/A":
				if d.NUMA, err = strconv.Atoi(cell); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			}
		}
		n.Facts.Devices = append(n.Facts.Devices, d)
	}
	nameRoots(n.Facts.Devices, lines[1:])
	return n
}

// nameRoots names the roots that a map tells of: devices whose path to each
// other, or to one adapter, stays below a bridge of the processor are behind
// one root. Those linked directly do not tell their path to each other.
func nameRoots(devices []inventory.Device, rows []string) {
	below := func(row, at int) bool {
		cells := strings.Split(rows[row], "\t")
		return at < len(cells) && slices.Contains([]string{"PIX", "PXB", "PHB"}, cells[at])
	}
	for i := range devices {
		devices[i].PCIRoot = fmt.Sprintf("0000:%02x", i)
		for k := range i {
			near := below(i, 1+k)
			for at := len(devices) + 1; !near && at < strings.Count(rows[i], "\t"); at++ {
				near = below(i, at) && below(k, at)
			}
			if near {
				devices[i].PCIRoot = devices[k].PCIRoot
				break
			}
		}
	}
}
