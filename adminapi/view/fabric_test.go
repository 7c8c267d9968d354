package view_test

import (
	"time"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/fabrics"
	"llmgw.io/llmgw/inventory/topology"
)

// watched is what is remembered of a world whose manager was another an hour
// ago, and of the counters of a quarter of a minute ago.
func watched(w view.World) fabrics.Memory {
	before := func(guid string) []*inventory.Node {
		n := *fullNode()
		n.Facts.Ports = append([]inventory.Port{}, n.Facts.Ports...)
		n.Facts.Ports[0].Physical = inventory.KeySM + guid
		n.Facts.Ports[1].State, n.Facts.Ports[1].Active, n.Facts.Ports[1].SMError, n.Facts.Ports[1].Physical = "ACTIVE", true, "", inventory.KeySM+guid
		s := *n.Sample
		s.Ports = []inventory.PortCounters{{HCA: "mlx5_0", Port: 1, TxBytes: ptr(int64(1<<40 - 15_000_000)), RxBytes: ptr(int64(1 << 42))}}
		n.Sample, n.SampleAt = &s, now.Add(-27*time.Second)
		return []*inventory.Node{&n}
	}
	m := fabrics.Watch(fabrics.Memory{}, before("00000000000000aa"), now.Add(-2*time.Hour))
	m = fabrics.Watch(m, before("b83fd203001a0011"), now.Add(-time.Hour))
	return fabrics.Watch(m, w.View.Fleet.Nodes(), now)
}

func networks(w view.World) fabrics.Report { return view.NetworksOf(w, watched(w)) }

func topologies(w view.World) []view.Topology {
	m, r := watched(w), networks(w)
	scan := fabrics.Scan{At: now.Add(-time.Hour), By: "a1 mlx5_0/1", Took: 330 * time.Millisecond, Error: "line 7 of the map is not understood and was left out", Map: &topology.Map{
		From:     "b83fd203001a0010",
		Switches: []topology.Switch{{GUID: "2c5eab0300aa0100", Name: "leaf-1", Ports: 65, LID: 3}},
		Hosts:    []topology.Host{{GUID: "b83fd203001a0010", Name: "a1 mlx5_0", Ports: 1}},
		Links:    []topology.Link{{A: topology.End{GUID: "2c5eab0300aa0100", Port: 1}, B: topology.End{GUID: "b83fd203001a0010", Port: 1, LID: 11}, Width: 4, Speed: "NDR", Gbps: 400}},
		Unknown:  1, FirstUnknown: 7,
	}}
	return []view.Topology{
		view.TopologyOf(w, m, &r, &r.Physical[0], scan),
		view.TopologyOf(w, m, &r, &r.Physical[0], fabrics.Scan{}),
	}
}
