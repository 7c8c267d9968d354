package catalog

import (
	"strings"

	"llmgw.io/llmgw/inventory"
)

// Prefetch names nodes that are to have a model's weights and adapters though no
// replica of it runs there: one that is placed there then has nothing to fetch.
// Nodes that are named and those that have all the labels are meant, both.
type Prefetch struct {
	Nodes  []inventory.NodeID `json:"nodes,omitempty"`
	Labels map[string]string  `json:"labels,omitempty"`
}

// Means reports whether a node is one of them.
func (p *Prefetch) Means(n *inventory.Node) bool {
	if p == nil {
		return false
	}
	for _, id := range p.Nodes {
		if id == n.ID {
			return true
		}
	}
	for key, value := range p.Labels {
		if n.Label(key) != value {
			return false
		}
	}
	return len(p.Labels) > 0
}

func checkPrefetch(c *complaints, m *Model) {
	p := m.Prefetch
	if p == nil {
		return
	}
	switch {
	case len(p.Nodes)+len(p.Labels) == 0:
		c.add("prefetch", "name nodes, or labels that they have; leave prefetch out for none")
	case m.Source == "":
		c.add("prefetch", "the model has no source, so there is nothing to fetch; leave prefetch out")
	case strings.HasPrefix(m.Source, "file:"):
		c.add("prefetch", "files of a node are used where they are, so there is nothing to fetch; leave prefetch out")
	}
	seen := map[inventory.NodeID]bool{}
	for i, id := range p.Nodes {
		switch {
		case id == "":
			c.add(at("prefetch.nodes", i), "a node has a name; list the nodes to see theirs")
		case seen[id]:
			c.add(at("prefetch.nodes", i), "%q is named twice", id)
		}
		seen[id] = true
	}
	for key := range p.Labels {
		if key == "" {
			c.add("prefetch.labels", "a label needs a name")
		}
	}
}
