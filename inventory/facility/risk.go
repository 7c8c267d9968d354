package facility

import (
	"cmp"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// riskLevels are the levels at which a place may take a model away, the
// narrowest first.
var riskLevels = []inventory.Level{inventory.LevelRack, inventory.LevelPDU, inventory.LevelRow, inventory.LevelRoom, inventory.LevelSite}

// atRisk lists the models whose ready replicas all depend on one place, where
// there is another place of the level that could take some.
func (b *building) atRisk(nodes []*inventory.Node, replicas []Replica) []Risk {
	byID := make(map[inventory.NodeID]*inventory.Node, len(nodes))
	for _, n := range nodes {
		byID[n.ID] = n
	}
	models := map[string][]Replica{}
	for _, r := range replicas {
		if r.Ready {
			models[r.Model] = append(models[r.Model], r)
		}
	}
	var out []Risk
	for model, ready := range models {
		if d, ok := b.shared(byID, ready); ok {
			out = append(out, Risk{Model: model, Domain: d, Ready: len(ready)})
		}
	}
	slices.SortFunc(out, func(a, b Risk) int { return cmp.Compare(a.Model, b.Model) })
	return out
}

// shared is the narrowest place that every replica needs.
func (b *building) shared(byID map[inventory.NodeID]*inventory.Node, ready []Replica) (inventory.Domain, bool) {
	for _, l := range riskLevels {
		if b.levels[l] < 2 {
			continue
		}
		common := needs(byID, ready[0], l)
		for _, r := range ready[1:] {
			has := needs(byID, r, l)
			common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(has, name) })
		}
		if len(common) > 0 {
			return inventory.Domain{Level: l, Name: common[0]}, true
		}
	}
	return inventory.Domain{}, false
}

// needs are the domains of a level that a replica stands in, in order. One that
// spans several goes with any of them.
func needs(byID map[inventory.NodeID]*inventory.Node, r Replica, l inventory.Level) []string {
	var out []string
	for _, id := range r.Nodes {
		if n := byID[id]; n != nil && n.Domain(l) != "" {
			out = append(out, n.Domain(l))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
