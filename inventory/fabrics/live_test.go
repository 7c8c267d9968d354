package fabrics_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/fabrics"
	"llmgw.io/llmgw/inventory/topology"
)

func port(hca string, number int, guid string, up bool) inventory.Port {
	p := inventory.Port{HCA: hca, Port: number, NodeGUID: guid, Physical: "sm:aa", State: "DOWN", PhysState: "Polling"}
	if up {
		p.State, p.PhysState, p.Active, p.RateGbps = "ACTIVE", "LinkUp", true, 400
	}
	return p
}

func heard(id inventory.NodeID, ports ...inventory.Port) *inventory.Node {
	return &inventory.Node{ID: id, Hearing: inventory.Heard, Facts: inventory.Facts{Features: []string{"walk"}, Ports: ports}}
}

// What adapters do is joined by node GUID: those that went down are shown, those
// without a GUID, on other networks and on lost nodes are not.
func TestLive(t *testing.T) {
	t.Parallel()
	elsewhere := port("mlx5_1", 1, "03", true)
	elsewhere.Physical = "sm:bb"
	fleet := func(tx int64, at time.Time) []*inventory.Node {
		a1 := heard("a1", port("mlx5_0", 1, "01", true), port("mlx5_0", 2, "01", true), elsewhere, port("mlx5_2", 1, "", true))
		a1.SampleAt, a1.Sample = at, &inventory.Sample{Ports: []inventory.PortCounters{
			{HCA: "mlx5_0", Port: 1, TxBytes: &tx, Errors: map[string]int64{"symbol_error": 1}},
			{HCA: "mlx5_0", Port: 2, TxBytes: &tx, Errors: map[string]int64{"symbol_error": 2, "link_downed": 4}},
		}}
		return []*inventory.Node{a1, heard("a2", port("mlx5_0", 1, "02", true)), heard("a3", port("mlx5_0", 1, "04", false), port("mlx5_0", 2, "04", true))}
	}
	m := fabrics.Watch(fabrics.Memory{}, fleet(0, begun), begun)
	nodes := fleet(1000, begun.Add(10*time.Second))
	nodes[1].Facts.Ports[0].Active, nodes[1].Facts.Ports[0].State, nodes[1].Facts.Ports[0].Physical = false, "DOWN", ""
	m = fabrics.Watch(m, nodes, begun.Add(10*time.Second))
	lost := heard("a4", port("mlx5_0", 1, "05", true))
	lost.Hearing = inventory.Lost
	got := fabrics.LiveOf(append(nodes, lost), m, "sm:aa", begun.Add(10*time.Second))
	want := map[string]fabrics.Live{
		"01": {Node: "a1", HCA: "mlx5_0", State: "ACTIVE", PhysState: "LinkUp", Gbps: 400, TxBPS: 1600, Errors: map[string]int64{"symbol_error": 3, "link_downed": 4}},
		"02": {Node: "a2", HCA: "mlx5_0", State: "DOWN", PhysState: "LinkUp", Gbps: 400},
		"04": {Node: "a3", HCA: "mlx5_0", State: "ACTIVE", PhysState: "LinkUp", Gbps: 400},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// One port a node is asked, and first those whose manager could be asked.
func TestScanners(t *testing.T) {
	t.Parallel()
	failing, roce := port("mlx5_0", 1, "01", true), port("eth0", 1, "02", true)
	failing.SMError = "no rights"
	roce.LinkLayer = "Ethernet"
	silent, old := heard("a0", port("mlx5_0", 1, "", true)), heard("a5", port("mlx5_0", 1, "", true))
	silent.Hearing, old.Facts.Features = inventory.Unreachable, []string{"logs"}
	nodes := []*inventory.Node{
		silent, old, heard("a1", failing), heard("a2", port("mlx5_0", 1, "", false)), heard("a3", failing, port("mlx5_1", 2, "", true)),
		heard("a4", port("mlx5_0", 1, "", true)), heard("a6", roce),
	}
	got := fabrics.Scanners(nodes, fabrics.Memory{}, "sm:aa", "walk")
	want := []fabrics.Port{{Node: "a3", HCA: "mlx5_1", Port: 2}, {Node: "a4", HCA: "mlx5_0", Port: 1}, {Node: "a1", HCA: "mlx5_0", Port: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Links that are slower than most of their kind are told from the map.
func TestSlowLinks(t *testing.T) {
	t.Parallel()
	m := topology.Map{
		Switches: []topology.Switch{{GUID: "s1", Name: "leaf"}, {GUID: "s2", Name: "spine"}},
		Hosts:    []topology.Host{{GUID: "h1", Name: "a1 mlx5_0"}},
	}
	link := func(a, b string, at, gbps int) {
		m.Links = append(m.Links, topology.Link{A: topology.End{GUID: a, Port: at}, B: topology.End{GUID: b, Port: at}, Gbps: gbps})
	}
	link("s1", "s2", 1, 400)
	link("s1", "s2", 2, 200)
	link("s1", "s2", 3, 400)
	link("h1", "s1", 4, 100)
	link("s1", "s2", 5, 0)
	got := fabrics.SlowLinks(&fabrics.Physical{Key: "sm:aa", Declared: []string{"ib0"}}, &m)
	want := []fabrics.Problem{{Fabric: "ib0", Kind: fabrics.Degraded, Text: "Between switches leaf port 2 and spine port 2 run at 200 Gb/s, slower than most, which run at 400 Gb/s: reseat or change the cable."}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A look at ten thousand nodes with nine ports each.
func BenchmarkWatch(b *testing.B) {
	var nodes []*inventory.Node
	for i := range 10_000 {
		n := heard(inventory.NodeID("n" + strconv.Itoa(i)))
		n.SampleAt, n.Sample = begun, &inventory.Sample{}
		for j := range 9 {
			p := port(fmt.Sprintf("mlx5_%d", j), 1, "", true)
			p.Fabric = "ib0"
			n.Facts.Ports = append(n.Facts.Ports, p)
			n.Sample.Ports = append(n.Sample.Ports, inventory.PortCounters{HCA: p.HCA, Port: 1, TxBytes: new(int64)})
		}
		nodes = append(nodes, n)
	}
	m := fabrics.Watch(fabrics.Memory{}, nodes, begun)
	b.ReportAllocs()
	for b.Loop() {
		m = fabrics.Watch(m, nodes, begun.Add(time.Minute))
	}
}
