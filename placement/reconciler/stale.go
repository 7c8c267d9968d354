package reconciler

import "llmgw.io/llmgw/catalog"

// Stale reports whether the definition of a replica was edited since it was
// placed; filling in defaults is no edit. One without a fingerprint is not stale,
// nor one whose model or profile is gone. Nothing is replaced for it unasked.
func Stale(x *catalog.Index, r *Replica) bool {
	edited, _ := compared(entryOf(x, r), r)
	return edited
}

// Outdated reports whether a rollout would replace a replica: it is stale, or its
// model no longer has its profile.
func Outdated(x *catalog.Index, r *Replica) bool {
	edited, gone := compared(entryOf(x, r), r)
	return edited || gone
}

func entryOf(x *catalog.Index, r *Replica) *catalog.Entry {
	if x == nil {
		return nil
	}
	e, _ := x.Get(r.Model)
	return e
}

// compared holds what a replica was placed from against what is in force.
func compared(e *catalog.Entry, r *Replica) (edited, gone bool) {
	if e == nil {
		return false, false
	}
	for i := range e.Model.Profiles {
		p := &e.Model.Profiles[i]
		if p.Name != r.Profile.Name {
			continue
		}
		if r.Fingerprint == "" || catalog.Fingerprint(&e.Model, p) == r.Fingerprint {
			return false, false
		}
		was := catalog.Model{Source: r.Source, Files: r.Files, Adapters: r.Adapters}
		before, now := r.Profile.WithDefaults(), p.WithDefaults()
		return catalog.Fingerprint(&was, &before) != catalog.Fingerprint(&e.Model, &now), false
	}
	return false, true
}
