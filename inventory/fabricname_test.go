package inventory_test

import (
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

func TestFabricNames(t *testing.T) {
	t.Parallel()
	node := &inventory.Node{
		Facts:    inventory.Facts{Labels: map[string]string{"llmgw.io/rack": "r12-07", "team/net": "a/b"}},
		Settings: inventory.NodeSettings{Labels: map[string]string{"tier": "old"}},
	}
	port := inventory.Port{
		HCA: "mlx5_3", Physical: "sm:b83fd203001a0011", Network: "10.1.2.0/24",
		SMs: []inventory.SubnetManager{{GUID: "b83fd203001a0011"}, {GUID: "b83fd203001a0099"}},
	}
	for match, want := range map[string]bool{
		"hca=mlx5_3":                  true,
		"hca=mlx5_?":                  true,
		"hca=mlx5":                    false,
		"rack=r12-*":                  true,
		"llmgw.io/rack=r12-07":        true,
		"rack=r13-*":                  false,
		"room=*":                      false,
		"team/net=a/*":                true,
		"tier=old, hca=mlx5_*":        true,
		"tier=old,hca=mlx4_*":         false,
		"sm_guid=0xb83fd203001a0011":  true,
		"sm_guid=B83F:D203:001A:0099": true,
		"sm_guid=b83fd203001a0000":    false,
		"network=10.1.0.0/16":         true,
		"network=10.1.2.0/24":         true,
		"network=10.1.2.0/25":         false,
		"network=fd00::/8":            false,
	} {
		names, err := inventory.NewFabricNames([]inventory.FabricRule{{Name: "ib0", Match: match}})
		if err != nil {
			t.Fatal(err)
		}
		if got := names.Of(node, &port) == "ib0"; got != want {
			t.Errorf("%s: want it matched: %v, got %v", match, want, got)
		}
	}
}

// The registry names ports, by the labels that operators set, too; what an agent
// says stays where no rule matches.
func TestRegistryNamesPorts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	r, err := inventory.NewRegistry(t.Context(), inventory.RegistryConfig{Store: &inventorytest.Store{}, Fabrics: []inventory.FabricRule{
		{Name: "east", Match: "side=east,hca=mlx5_*"}, {Name: "ib0", Match: "hca=mlx5_*"},
	}}, now)
	if err != nil {
		t.Fatal(err)
	}
	facts := inventory.Facts{Ports: []inventory.Port{{HCA: "mlx5_0", Active: true, Physical: "sm:aa"}, {HCA: "eth0", Active: true, Fabric: "own"}}}
	r.Apply("a1", inventory.Report{Facts: &facts, At: now}, now)
	want := func(name string) {
		t.Helper()
		n := r.Snapshot().Node("a1")
		if p := n.Facts.Ports; p[0].Fabric != name || p[1].Fabric != "own" {
			t.Errorf("want %s and own, got %s and %s", name, p[0].Fabric, p[1].Fabric)
		}
	}
	want("ib0")
	version := r.Snapshot().Node("a1").Version
	r.Apply("a1", inventory.Report{Facts: &facts, At: now}, now)
	if got := r.Snapshot().Node("a1").Version; got != version {
		t.Error("the same facts made a new version of the node")
	}
	if facts.Ports[0].Fabric != "" {
		t.Error("the agent's own report was changed")
	}
	east := "east"
	if _, err := r.SetLabels(t.Context(), "a1", map[string]*string{"side": &east}, inventory.Author{Principal: "test"}); err != nil {
		t.Fatal(err)
	}
	want("east")
	if _, err := r.SetLabels(t.Context(), "a1", map[string]*string{"side": nil}, inventory.Author{Principal: "test"}); err != nil {
		t.Fatal(err)
	}
	want("ib0")
	if _, err := inventory.NewRegistry(t.Context(), inventory.RegistryConfig{Store: &inventorytest.Store{}, Fabrics: []inventory.FabricRule{{Name: "x"}}}, now); err == nil {
		t.Error("a rule that matches nothing was taken")
	}
}
