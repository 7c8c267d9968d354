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

// Networks of RoCE that people gave one name are one; those of InfiniBand are
// not, and neither are those without a name.
func TestFabricsByReach(t *testing.T) {
	t.Parallel()
	n := &inventory.Node{Facts: inventory.Facts{Ports: []inventory.Port{
		{Active: true, Fabric: "rails", Physical: "roce:10.0.0.0/31"},
		{Active: true, Fabric: "rails", Physical: "roce:10.0.0.2/31"},
		{Active: true, Physical: "roce:10.9.0.0/24"},
		{Active: true, Fabric: "ib", Physical: "sm:aa"},
		{Active: true, Fabric: "ib", Physical: "sm:bb"},
	}}}
	want := []inventory.Fabric{{Key: "declared:rails", Name: "rails"}, {Key: "roce:10.9.0.0/24"}, {Key: "sm:aa", Name: "ib"}, {Key: "sm:bb", Name: "ib"}}
	if diff := cmp.Diff(want, n.Fabrics()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPortLabel(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]inventory.Port{
		"":                 {Fabric: "ib0"},
		"SM aa (LID 7)":    {Physical: "sm:aa", SMLID: 3, SM: &inventory.SubnetManager{GUID: "aa", LID: 7}},
		"SM aa (LID 3)":    {Physical: "sm:aa", SMLID: 3},
		"SM aa":            {Physical: "sm:aa"},
		"RoCE 10.1.2.0/24": {Physical: "roce:10.1.2.0/24"},
		"something else":   {Physical: "something else"},
	} {
		if got := p.Label(); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
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
		{"one does not say", []string{"", "a/1"}, ""},
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
	n := &inventory.Node{Facts: inventory.Facts{Devices: []inventory.Device{{Domain: "a/1"}, {Problem: "lost"}, {MIGProfile: "3g.40gb"}}}}
	if got := n.NVLinkDomain(); got != "a/1" {
		t.Errorf("want what is not used to count for nothing, got %q", got)
	}
}
