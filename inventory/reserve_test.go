package inventory_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

func allocation(shard string, at inventory.NodeID, shares ...inventory.DeviceShare) inventory.Allocation {
	replica, _, _ := strings.Cut(shard, ".")
	return inventory.Allocation{Shard: shard, Replica: replica, Model: "m", Node: at, Devices: shares}
}

func whole(i int) inventory.DeviceShare { return inventory.DeviceShare{Index: i} }

func part(i int, gb int64) inventory.DeviceShare {
	return inventory.DeviceShare{Index: i, MemoryMB: gb << 10}
}

func TestReserveIsACompareAndSet(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		has  []inventory.Allocation
		asks []inventory.Allocation
		// behind leaves the versions as they were before has was reserved.
		behind bool
		// problem is part of the refusal. Empty: it is granted.
		problem string
	}{
		{name: "a free device", asks: []inventory.Allocation{allocation("m-1.0", "a", whole(0))}},
		{name: "two nodes at once", asks: []inventory.Allocation{allocation("m-1.0", "a", whole(0)), allocation("m-1.1", "b", whole(0))}},
		{name: "decided on an older version", has: []inventory.Allocation{allocation("m-1.0", "a", whole(0))}, behind: true, asks: []inventory.Allocation{allocation("m-2.0", "a", whole(1))}, problem: "decided on version"},
		{name: "a node that is gone", asks: []inventory.Allocation{allocation("m-1.0", "z", whole(0))}, problem: "not known any more"},
		{name: "a device that is taken", has: []inventory.Allocation{allocation("m-1.0", "a", whole(3))}, asks: []inventory.Allocation{allocation("m-2.0", "a", whole(3))}, problem: "device 3 is taken"},
		{name: "one device asked for twice at once", asks: []inventory.Allocation{allocation("m-1.0", "a", whole(3)), allocation("m-2.0", "a", whole(3))}, problem: "device 3 is taken"},
		{name: "a part of a device taken whole", has: []inventory.Allocation{allocation("m-1.0", "a", whole(3))}, asks: []inventory.Allocation{allocation("m-2.0", "a", part(3, 1))}, problem: "device 3 is taken"},
		{name: "the whole of a shared device", has: []inventory.Allocation{allocation("m-1.0", "a", part(3, 1))}, asks: []inventory.Allocation{allocation("m-2.0", "a", whole(3))}, problem: "device 3 is taken"},
		{name: "what is left of a shared device", has: []inventory.Allocation{allocation("m-1.0", "a", part(3, 50))}, asks: []inventory.Allocation{allocation("m-2.0", "a", part(3, 30))}},
		{name: "more than is left of a shared device", has: []inventory.Allocation{allocation("m-1.0", "a", part(3, 50))}, asks: []inventory.Allocation{allocation("m-2.0", "a", part(3, 31))}, problem: "1024 MiB short"},
		{name: "a device that is not there", asks: []inventory.Allocation{allocation("m-1.0", "a", whole(9))}, problem: "no device 9"},
		{name: "more memory than there is", asks: []inventory.Allocation{{Shard: "m-1.0", Replica: "m-1", Node: "a", MemoryMB: 1 << 20}}, problem: "memory is 4096 MiB short"},
		{name: "more cores than there are", asks: []inventory.Allocation{{Shard: "m-1.0", Replica: "m-1", Node: "a", Cores: 95}}, problem: "1 cores short"},
		{name: "a repetition", has: []inventory.Allocation{allocation("m-1.0", "a", whole(3))}, asks: []inventory.Allocation{allocation("m-1.0", "a", whole(3))}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := open(t, &inventorytest.Store{}, start)
			for _, id := range []inventory.NodeID{"a", "b"} {
				r.Apply(id, inventory.Report{Facts: eightCards()}, start)
			}
			at := versions(r)
			if err := r.Reserve(at, c.has); err != nil {
				t.Fatal(err)
			}
			if !c.behind {
				at = versions(r)
			}
			before := inventorytest.Format(r.Snapshot())
			err := r.Reserve(at, c.asks)
			if c.problem == "" {
				if err != nil {
					t.Errorf("want it granted, got %v", err)
				}
				return
			}
			if !errors.Is(err, inventory.ErrStale) || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("want ErrStale with %q, got %v", c.problem, err)
			}
			if after := inventorytest.Format(r.Snapshot()); after != before {
				t.Errorf("a refusal changed the fleet from\n%s to\n%s", before, after)
			}
		})
	}
}

func versions(r *inventory.Registry) map[inventory.NodeID]uint64 {
	out := map[inventory.NodeID]uint64{}
	for _, n := range r.Snapshot().Nodes() {
		out[n.ID] = n.Version
	}
	return out
}

func TestReleaseFreesAllOfAReplica(t *testing.T) {
	t.Parallel()
	r := open(t, &inventorytest.Store{}, start)
	r.Apply("a", inventory.Report{Facts: eightCards()}, start)
	r.Apply("b", inventory.Report{Facts: eightCards()}, start)
	as := []inventory.Allocation{allocation("m-1.0", "a", whole(0)), allocation("m-1.1", "b", whole(0)), allocation("m-2.0", "a", whole(1))}
	if err := r.Reserve(versions(r), as); err != nil {
		t.Fatal(err)
	}
	r.Release("m-1")
	if a, b := r.Snapshot().Node("a").Allocations, r.Snapshot().Node("b").Allocations; len(a) != 1 || a[0].Replica != "m-2" || len(b) != 0 {
		t.Errorf("want only m-2 left, got %v and %v", a, b)
	}
	changed := r.Changed()
	r.Release("m-1")
	if told(changed) {
		t.Error("a repeated release changed something")
	}
}

// Of many who want the same device at once, one gets it.
func TestReserveByManyAtOnce(t *testing.T) {
	t.Parallel()
	r := open(t, &inventorytest.Store{}, start)
	r.Apply("a", inventory.Report{Facts: eightCards()}, start)
	at := versions(r)
	var wg sync.WaitGroup
	granted := make(chan string, 64)
	for i := range 32 {
		wg.Go(func() {
			shard := "m-" + string(rune('A'+i)) + ".0"
			if r.Reserve(at, []inventory.Allocation{allocation(shard, "a", whole(0))}) == nil {
				granted <- shard
			}
			r.Apply("a", inventory.Report{Sample: &inventory.Sample{}}, start)
			r.Tick(start.Add(time.Second))
		})
	}
	wg.Wait()
	if len(granted) != 1 || len(r.Snapshot().Node("a").Allocations) != 1 {
		t.Errorf("want 1 grant, got %d, and %v", len(granted), r.Snapshot().Node("a").Allocations)
	}
}
