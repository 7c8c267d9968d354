package placement

import (
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Request asks for room for one replica of a model.
type Request struct {
	Model *catalog.Model
	// Profiles narrows the model's profiles to these names, in the model's
	// order. Nil: all of them.
	Profiles []string
	// Avoid are nodes that must not be used, with the reason to show
	// ("a start failed here"). Nil: none.
	Avoid map[inventory.NodeID]string
}
