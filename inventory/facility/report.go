package facility

import "llmgw.io/llmgw/inventory"

// Report is the building as its nodes' labels say it is.
type Report struct {
	// Places are those that a node stands in or that a hold names: the widest
	// level first, then by name.
	Places []Place
	// AtRisk are ordered by model.
	AtRisk []Risk
	// Problems are sentences about labels that contradict each other, in order.
	Problems []string
}

// Place is one domain of the building.
type Place struct {
	Domain inventory.Domain
	// Parent is the next wider domain that its nodes name. Zero: they name none.
	Parent inventory.Domain
	// Nodes, GPUs and Free count machines, and devices on them: all, and those
	// that are healthy and have nothing allocated.
	Nodes, GPUs, Free int
	// Replicas are those with a shard there.
	Replicas int
	// PowerW is what sensors measure there, in watts. Nil: none says.
	PowerW *float64
	// Hold is that of the domain itself, planned or in force. Nil: none.
	Hold *inventory.Hold
}

// Risk is a model that one place would take away.
type Risk struct {
	Model string
	// Domain is the narrowest place that all its ready replicas depend on.
	Domain inventory.Domain
	// Ready is how many replicas are ready.
	Ready int
}

// Replica is one copy of a model, as far as the building is concerned.
type Replica struct {
	ID, Model string
	Ready     bool
	// Nodes are those its shards are on; it needs all of them.
	Nodes []inventory.NodeID
}
