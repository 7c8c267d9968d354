package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

func one(t *testing.T, line string) *inventory.Node {
	t.Helper()
	s, err := inventorytest.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return s.Nodes()[0]
}

func TestFreeRoomOfAHost(t *testing.T) {
	t.Parallel()
	type room struct {
		Memory, Disk            int64
		Cores                   int
		MemoryKnown, CoresKnown bool
		DiskKnown               bool
	}
	cases := []struct {
		line string
		want room
	}{
		{"a", room{}},
		{"a mem=1024 cpu=96", room{Memory: 1020 << 10, MemoryKnown: true, Cores: 94, CoresKnown: true}},
		{"a mem=20 cpu=4", room{Memory: 19 << 10, MemoryKnown: true, Cores: 4, CoresKnown: true}},
		{"a mem=20 cpu=8 reserve=2/3", room{Memory: 18 << 10, MemoryKnown: true, Cores: 5, CoresKnown: true}},
		{"a mem=1024 cpu=96 alloc=m.0:m:-:mem=1000:cpu=90 alloc=n.0:n:-:mem=30", room{Memory: -10 << 10, MemoryKnown: true, Cores: 4, CoresKnown: true}},
		{"a disk=100/500 alloc=m.0:m:-:disk=30", room{Disk: 70 << 10, DiskKnown: true}},
		{"a disk=0/500", room{DiskKnown: true}},
	}
	for _, c := range cases {
		n := one(t, c.line)
		var got room
		got.Memory, got.MemoryKnown = n.FreeMemoryMB()
		got.Cores, got.CoresKnown = n.FreeCores()
		got.Disk, got.DiskKnown = n.FreeDiskMB()
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.line, diff)
		}
	}
}

// Weights that have arrived are part of what is no longer free on disk, and are
// not counted again.
func TestDiskOfWeightsThatHaveArrived(t *testing.T) {
	t.Parallel()
	n := *one(t, "a disk=100/500 alloc=m.0:m:-:disk=30")
	for state, want := range map[inventory.ShardState]int64{
		inventory.ShardPending: 70 << 10, inventory.ShardFetching: 70 << 10, inventory.ShardFailed: 70 << 10,
		inventory.ShardStarting: 100 << 10, inventory.ShardReady: 100 << 10, inventory.ShardDraining: 100 << 10,
	} {
		n.Shards = []inventory.ShardStatus{{ID: "m.0", State: state}}
		if got, _ := n.FreeDiskMB(); got != want {
			t.Errorf("%s: want %d MiB free, got %d", state, want, got)
		}
	}
}

func TestRoomOnADevice(t *testing.T) {
	t.Parallel()
	n := one(t, "a gpu=5xA10-24+1xodd foreign=2:4 alloc=m.0:m:0 alloc=n.0:n:1@6 alloc=o.0:o:1@2 alloc=p.0:p:5@9")
	for i, want := range []struct {
		use   inventory.DeviceUse
		mb    int64
		known bool
	}{
		{inventory.DeviceUse{Whole: 1}, 0, true},
		{inventory.DeviceUse{Shares: 2, SharedMB: 8 << 10}, 16 << 10, true},
		{inventory.DeviceUse{}, 20 << 10, true},
		{inventory.DeviceUse{}, 24 << 10, true},
		{inventory.DeviceUse{}, 24 << 10, true},
		{inventory.DeviceUse{Shares: 1, SharedMB: 9 << 10}, 0, false},
	} {
		d, ok := n.Device(i)
		if !ok {
			t.Fatalf("no device %d", i)
		}
		mb, known := n.ShareableMB(d)
		if use := n.DeviceUse(i); use != want.use || mb != want.mb || known != want.known {
			t.Errorf("device %d: want %+v, got %+v, %d MiB, known %v", i, want, use, mb, known)
		}
	}
}

func TestEachDeviceIsCountedOnce(t *testing.T) {
	t.Parallel()
	s, err := inventorytest.Parse(`
		a gpu=8xH100-80 mig=8:2x3g.40gb unhealthy=0,1 alloc=m.0:m:1-3 alloc=n.0:n:4@7 cordoned
		b gpu=2xL4-24+1xH100-80
		c lost`)
	if err != nil {
		t.Fatal(err)
	}
	want := []inventory.ClassCount{
		{Class: "H100-80", Total: 9, Free: 4, Unhealthy: 2, InUse: 3},
		{Class: "3g.40gb", Total: 2, Free: 2, MIG: true},
		{Class: "L4-24", Total: 2, Free: 2},
	}
	if diff := cmp.Diff(want, s.ClassCounts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	states := map[inventory.NodeState]int{inventory.StateReady: 1, inventory.StateCordoned: 1, inventory.StateLost: 1}
	if diff := cmp.Diff(states, s.StateCounts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.Node("b").ClassCounts(); len(got) != 2 || got[0].Class != "L4-24" {
		t.Errorf("want L4-24 first on b, got %v", got)
	}
}

func TestLocationAndPool(t *testing.T) {
	t.Parallel()
	n := *one(t, "a rack=r1 room=m1 pool=research")
	n.Settings.Labels = map[string]string{"llmgw.io/rack": "r2"}
	if got := n.Location(); got != (inventory.Location{Rack: "r2", Room: "m1"}) || n.Pool() != "research" {
		t.Errorf("want the operator's rack over the agent's, got %+v in pool %q", got, n.Pool())
	}
}

func TestStateIsOneWord(t *testing.T) {
	t.Parallel()
	for _, w := range []inventory.Wish{inventory.WishReady, inventory.WishCordoned, inventory.WishDraining} {
		word := inventory.Shown(w, inventory.Heard)
		if back, ok := inventory.WishOf(word); !ok || back != w {
			t.Errorf("%s: want %q back, got %q", word, w, back)
		}
		if got := inventory.Shown(w, inventory.Unreachable); got != inventory.StateUnreachable {
			t.Errorf("%q and unreachable: got %s", w, got)
		}
		if got := inventory.Shown(w, inventory.Lost); got != inventory.StateLost {
			t.Errorf("%q and lost: got %s", w, got)
		}
	}
	if _, ok := inventory.WishOf("lost"); ok {
		t.Error("nobody can wish a node lost")
	}
}

func TestWithAndWithoutAreCopies(t *testing.T) {
	t.Parallel()
	s, err := inventorytest.Parse("a gpu=2xL4-24\nb gpu=2xL4-24")
	if err != nil {
		t.Fatal(err)
	}
	before := inventorytest.Format(s)
	more := s.With(inventory.Allocation{Shard: "m-1.0", Replica: "m-1", Model: "m", Node: "a", Devices: []inventory.DeviceShare{{Index: 1}}})
	if got := inventorytest.Format(more); got == before || more.Node("b") != s.Node("b") {
		t.Errorf("want another a and the same b, got %s", got)
	}
	if got := inventorytest.Format(more.Without("m-1")); got != before || inventorytest.Format(s) != before {
		t.Errorf("want all as before, got %s", got)
	}
}

// TestWithInAnyOrder: allocations are made on each node that they name, in
// whatever order they come, and those on unknown nodes are left out.
func TestWithInAnyOrder(t *testing.T) {
	t.Parallel()
	fleet, err := inventorytest.Parse("a\nb\nc")
	if err != nil {
		t.Fatal(err)
	}
	on := func(node inventory.NodeID, shard string, memory int64) inventory.Allocation {
		return inventory.Allocation{Shard: shard, Replica: shard, Node: node, MemoryMB: memory}
	}
	with := fleet.With(on("c", "z", 1), on("a", "y", 1), on("nowhere", "v", 1), on("c", "x", 1), on("a", "y", 2))
	if with.Node("b") != fleet.Node("b") || len(fleet.Node("a").Allocations) > 0 {
		t.Error("want what is not touched shared, and what is copied")
	}
	// Of two for one shard the later one stands.
	if got := with.Node("a").Allocations; len(got) != 1 || got[0].MemoryMB != 2 {
		t.Errorf("a has %+v", got)
	}
	if got := with.Node("c").Allocations; len(got) != 2 || got[0].Shard != "x" || got[1].Shard != "z" {
		t.Errorf("c has %+v", got)
	}
}
