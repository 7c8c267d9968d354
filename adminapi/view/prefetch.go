package view

import (
	"slices"
	"strings"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// Prefetch is how far nodes are with weights that they are to have though no replica
// runs there.
type Prefetch struct {
	Nodes   int            `json:"nodes" doc:"that are to have the weights"`
	Ready   int            `json:"ready" doc:"that have them"`
	Missing []PrefetchNode `json:"missing,omitempty" doc:"the others"`
}

// PrefetchNode is one that does not have them yet.
type PrefetchNode struct {
	Node    string `json:"node"`
	State   string `json:"state" doc:"waiting, fetching or failed"`
	Percent *int   `json:"percent,omitempty"`
	Error   string `json:"error,omitempty"`
}

// prefetchOf is a model's; nil where its definition asks for none.
func prefetchOf(w World, m *catalog.Model) *Prefetch {
	if m.Prefetch == nil {
		return nil
	}
	source, _, _ := strings.Cut(m.Source, "#")
	source, _, _ = strings.Cut(source, "?")
	p := &Prefetch{}
	for _, n := range w.nodes() {
		if !reconciler.PrefetchedOn(m, n) {
			continue
		}
		p.Nodes++
		s := inventory.Prefetched{State: inventory.PrefetchWaiting}
		for _, at := range n.Facts.Prefetch {
			if at.Model == string(m.Name) && at.Source == source {
				s = at
			}
		}
		if s.State == inventory.PrefetchReady {
			p.Ready++
			continue
		}
		p.Missing = append(p.Missing, PrefetchNode{Node: string(n.ID), State: string(s.State), Percent: s.Percent, Error: s.Error})
	}
	for _, id := range m.Prefetch.Nodes {
		if w.node(id) == nil {
			p.Nodes++
			p.Missing = append(p.Missing, PrefetchNode{Node: string(id), State: string(inventory.PrefetchWaiting), Error: "there is no such node; it fetches them once it joins"})
		}
	}
	slices.SortStableFunc(p.Missing, func(a, b PrefetchNode) int { return strings.Compare(a.Node, b.Node) })
	return p
}

// NodePrefetch is one model's weights on their way to a node ahead of time.
type NodePrefetch struct {
	Model   string `json:"model"`
	State   string `json:"state" doc:"waiting, fetching, ready or failed"`
	Percent *int   `json:"percent,omitempty"`
	Error   string `json:"error,omitempty"`
}

func prefetchedOn(f *inventory.Facts) []NodePrefetch {
	var out []NodePrefetch
	for _, p := range f.Prefetch {
		out = append(out, NodePrefetch{Model: p.Model, State: string(p.State), Percent: p.Percent, Error: p.Error})
	}
	return out
}
