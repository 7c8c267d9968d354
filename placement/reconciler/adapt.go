package reconciler

import (
	"slices"

	"llmgw.io/llmgw/catalog"
)

// adapt gives running replicas the adapters that their model has now, where their
// engine takes them while it runs. It is the one edit of a definition that reaches
// what runs without an order: nothing is started or stopped for it, and an adapter
// that is not loaded yet is not asked. All else of a replica stays as it was placed.
func (s *step) adapt(g *group) {
	if g.entry == nil {
		return
	}
	now := g.entry.Model.Adapters
	for _, u := range g.units {
		if !u.live() || u.isNew || slices.Equal(u.Adapters, now) || !catalog.RoomForAdapters(u.Profile.Engine, u.Profile.Args, len(u.Adapters)) {
			continue
		}
		r := u.edit()
		known := r.Fingerprint == fingerprintOf(r)
		if r.Adapters = slices.Clone(now); known {
			r.Fingerprint = fingerprintOf(r)
		}
		u.change("Its model's adapters were changed.")
	}
}

// fingerprintOf is of what a replica was placed from, as it is kept.
func fingerprintOf(r *Replica) string {
	return catalog.Fingerprint(&catalog.Model{Source: r.Source, Files: r.Files, Adapters: r.Adapters}, &r.Profile)
}
