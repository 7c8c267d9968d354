package adminapi

import (
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/inventory/fabrics"
)

// networks is the newest look at networks.
type networks struct {
	world  view.World
	memory fabrics.Memory
	report fabrics.Report
}

func (c *call) networks() *networks {
	n := &networks{world: c.world()}
	if f := c.api.cfg.Fabrics; f != nil {
		n.memory = f.Memory()
	}
	n.report = view.NetworksOf(n.world, n.memory)
	return n
}

// find is the network that the path names.
func (n *networks) find(id string) (*fabrics.Physical, error) {
	p, ok := n.report.Find(id)
	if !ok {
		return nil, missing("there is no network %q; GET %s/fabrics, or ctl fabrics, lists their ids", clip(id), Base)
	}
	return p, nil
}

func (a *API) fabrics(c *call) (view.FabricReport, error) {
	n := c.networks()
	return view.FabricsOf(&n.report), nil
}

func (a *API) topology(c *call) (view.Topology, error) {
	n := c.networks()
	p, err := n.find(c.param("id"))
	if err != nil {
		return view.Topology{}, err
	}
	var scan fabrics.Scan
	if f := a.cfg.Fabrics; f != nil {
		scan, _ = f.Newest(p.Key)
	}
	return view.TopologyOf(n.world, n.memory, &n.report, p, scan), nil
}

func (a *API) scanFabric(c *call) (view.Topology, error) {
	n := c.networks()
	p, err := n.find(c.param("id"))
	if err != nil {
		return view.Topology{}, err
	}
	if err := a.record(c, "fabric:"+p.ID(), nil); err != nil {
		return view.Topology{}, err
	}
	scan, err := a.cfg.Fabrics.Scan(c.r.Context(), p.Key)
	if err != nil {
		return view.Topology{}, err
	}
	return view.TopologyOf(n.world, n.memory, &n.report, p, scan), nil
}

func (a *API) nvlink(c *call) (view.NVLinkReport, error) { return view.NVLinkOf(c.world()), nil }
