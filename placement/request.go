package placement

import (
	"slices"

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

// profiles are the profiles to try, in order: those that others serve are none
// of ours.
func (r Request) profiles() []*catalog.Profile {
	var out []*catalog.Profile
	for i := range r.Model.Profiles {
		p := &r.Model.Profiles[i]
		if p.Managed() && (r.Profiles == nil || slices.Contains(r.Profiles, p.Name)) {
			out = append(out, p)
		}
	}
	return out
}
