package placement

import (
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Placer is the scheduler's decision. The zero value is the default one, and
// may be copied.
type Placer struct {
	// Mix is what the fleet is kept fit for. The zero value is a usual one.
	Mix Mix
	// Filters are asked after the built-in ones, in order. Nil: none.
	Filters []Filter
	// Scorers are added to the built-in score. Nil: none.
	Scorers []Scorer
}

// Filter says whether a node may take a shard of a profile. An empty refusal
// lets it pass; any other is counted as "custom:<Name>". It may look at the node
// and what is placed there, and at nothing else.
type Filter struct {
	Name   string
	Refuse func(n *inventory.Node, m *catalog.Model, p *catalog.Profile) (refusal string)
}

// Scorer adds to a node's score, in device-seconds as the built-in one (see score.go). It
// may look at the node and what is placed there, and at nothing else.
type Scorer struct {
	Name  string
	Score func(n *inventory.Node, m *catalog.Model, p *catalog.Profile) float64
}
