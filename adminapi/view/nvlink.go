package view

import "llmgw.io/llmgw/inventory/nvlink"

// NVLinkReport is every NVLink domain of several nodes.
type NVLinkReport struct {
	Domains []NVLinkDomain `json:"domains"`
	KeptOut []KeptOut      `json:"kept_out" doc:"nodes that cannot take a shard of a group over NVLink, or not on all devices or at full speed; one line for each reason"`
}

// NVLinkDomain is one of them.
type NVLinkDomain struct {
	ID      string   `json:"id" doc:"the cluster's UUID, a dot, and the clique"`
	Nodes   []string `json:"nodes"`
	Devices int      `json:"devices" doc:"healthy ones"`
	Ready   bool     `json:"ready" doc:"two nodes and more could take shards of one group"`
}

// KeptOut is a node, and what keeps it out.
type KeptOut struct {
	Node   string `json:"node"`
	Domain string `json:"domain,omitempty" doc:"the one it would be in; absent: unknown"`
	Reason string `json:"reason"`
}

// NVLinkOf builds the report on NVLink domains.
func NVLinkOf(w World) NVLinkReport {
	r := nvlink.Analyze(w.nodes())
	v := NVLinkReport{Domains: []NVLinkDomain{}, KeptOut: []KeptOut{}}
	for _, d := range r.Domains {
		x := NVLinkDomain{ID: d.ID, Nodes: []string{}, Devices: d.Devices, Ready: d.Ready}
		for _, n := range d.Nodes {
			x.Nodes = append(x.Nodes, string(n))
		}
		v.Domains = append(v.Domains, x)
	}
	for _, k := range r.KeptOut {
		v.KeptOut = append(v.KeptOut, KeptOut{Node: string(k.Node), Domain: k.Domain, Reason: k.Reason})
	}
	return v
}
