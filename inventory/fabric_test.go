package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
)

func TestFabrics(t *testing.T) {
	t.Parallel()
	n := &inventory.Node{Facts: inventory.Facts{Ports: []inventory.Port{
		{HCA: "mlx5_1", Active: true, Fabric: "ib1"},
		{HCA: "mlx5_0", Active: true, Fabric: "ib0", Physical: "fe80::7"},
		{HCA: "mlx5_2", Active: true, Fabric: "ib0", Physical: "fe80::7"},
		{HCA: "mlx5_3", Active: true},
		{HCA: "mlx5_4", Fabric: "down"},
	}}}
	want := []inventory.Fabric{{Key: "declared:ib1", Name: "ib1"}, {Key: "fe80::7", Name: "ib0"}}
	if diff := cmp.Diff(want, n.Fabrics()); diff != "" {
		t.Errorf("want each network of an active port once (-want +got):\n%s", diff)
	}
	if got := (&inventory.Node{}).Fabrics(); got != nil {
		t.Errorf("a node without ports is on no fabric, got %v", got)
	}
}

func TestNVLinkDomain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		domains []string
		want    string
	}{
		{"no devices", nil, ""},
		{"none says", []string{"", ""}, ""},
		{"all of one", []string{"a/1", "a/1"}, "a/1"},
		{"one does not say", []string{"", "a/1"}, "a/1"},
		{"two of them", []string{"a/1", "b/1"}, ""},
	} {
		n := &inventory.Node{}
		for _, d := range c.domains {
			n.Facts.Devices = append(n.Facts.Devices, inventory.Device{Domain: d})
		}
		if got := n.NVLinkDomain(); got != c.want {
			t.Errorf("%s: want %q, got %q", c.name, c.want, got)
		}
	}
}
