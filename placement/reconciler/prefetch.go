package reconciler

import (
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Prefetch is a model's weights that a node is to have though no replica runs there.
type Prefetch struct {
	Node  inventory.NodeID
	Model catalog.Name
	// Engine is the one that will read them: that of the first profile that llmgw
	// starts.
	Engine   catalog.Engine
	Source   string
	Files    []catalog.File
	Adapters []catalog.Adapter
}

// Prefetches are what definitions ask of the nodes there are, in order of nodes and
// models. A node that is drained gets nothing new; what it has it keeps.
func Prefetches(x *catalog.Index, fleet *inventory.Snapshot) []Prefetch {
	var wishes []*catalog.Model
	for i, entries := 0, x.Entries(); i < len(entries); i++ {
		if entries[i].Model.Prefetch != nil {
			wishes = append(wishes, &entries[i].Model)
		}
	}
	if len(wishes) == 0 {
		return nil
	}
	var out []Prefetch
	for _, n := range fleet.Nodes() {
		for _, m := range wishes {
			if !PrefetchedOn(m, n) {
				continue
			}
			engine, _ := engineOf(m)
			out = append(out, Prefetch{Node: n.ID, Model: m.Name, Engine: engine, Source: m.Source, Files: m.Files, Adapters: m.Adapters})
		}
	}
	return out
}

// PrefetchedOn reports whether a node is to have a model's weights though no replica
// runs there.
func PrefetchedOn(m *catalog.Model, n *inventory.Node) bool {
	_, ok := engineOf(m)
	return ok && m.Prefetch.Means(n) && n.Settings.Wish != inventory.WishDraining
}

func engineOf(m *catalog.Model) (catalog.Engine, bool) {
	i := slices.IndexFunc(m.Profiles, func(p catalog.Profile) bool { return p.Managed() })
	if i < 0 || m.Source == "" {
		return "", false
	}
	return m.Profiles[i].Engine, true
}
