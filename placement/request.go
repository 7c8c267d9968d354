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
	// Apart are models that must not run on the same node. Nil: none.
	Apart []catalog.Name
	// Speeds part nodes that are equally good. An index takes speeds at another
	// address for others, and asks every node again. Nil: nothing was measured,
	// and the first by id is taken.
	Speeds *Speeds
}

// profiles are the profiles to try, in order.
func (r Request) profiles() []*catalog.Profile {
	var out []*catalog.Profile
	for i := range r.Model.Profiles {
		if p := &r.Model.Profiles[i]; r.wants(p) {
			out = append(out, p)
		}
	}
	return out
}

// wants reports whether a profile is to be tried: those that others serve are
// none of ours.
func (r Request) wants(p *catalog.Profile) bool {
	return p.Managed() && (r.Profiles == nil || slices.Contains(r.Profiles, p.Name))
}
