package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

// What was decided on a node is refused once the node has changed.
func ExampleRegistry_Reserve() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	registry, err := inventory.NewRegistry(context.Background(), inventory.RegistryConfig{Store: &inventorytest.Store{}}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	registry.Apply("a1", inventory.Report{Facts: &inventory.Facts{Devices: []inventory.Device{{Index: 0, Class: "L4-24"}}}}, now)
	seen := map[inventory.NodeID]uint64{"a1": registry.Snapshot().Node("a1").Version}
	take := func(replica string) error {
		return registry.Reserve(seen, []inventory.Allocation{{
			Shard: replica + ".0", Replica: replica, Model: "m", Node: "a1", Devices: []inventory.DeviceShare{{Index: 0}},
		}})
	}
	fmt.Println(take("m-1"))
	fmt.Println(errors.Is(take("m-2"), inventory.ErrStale))
	// Output:
	// <nil>
	// true
}
