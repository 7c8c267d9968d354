package catalog

import (
	"slices"

	"llmgw.io/llmgw/inventory"
)

// Change is a set of optional edits to one definition. Nil fields are left as
// they are; all that are set are validated and made together, or none.
type Change struct {
	// Replace is a whole new definition of the same name. Write-only keys that
	// it leaves out are kept.
	Replace *Model
	// Scaling replaces min, max and the idle timeout; its Schedule is ignored.
	Scaling *Scaling
	// Class replaces the capacity class.
	Class *Class
	// Owner replaces the owner; empty clears it.
	Owner *string
	// Resources replaces what profiles reserve of their hosts.
	Resources *Resources
}

// Resources are reservations of one profile, or of all of them.
type Resources struct {
	// Profile is the profile's name. Empty: every profile.
	Profile string
	// MemoryGB (GiB) and CPUCores replace what a shard reserves. Zero: nothing
	// is reserved.
	MemoryGB int
	CPUCores int
}

// Author is who changes a definition.
type Author = inventory.Author

// apply makes the edits on a copy. Its errors are about the change itself; the
// result is validated by the caller.
func (c Change) apply(m Model) (Model, error) {
	if c.Replace != nil {
		if c.Replace.Name != m.Name {
			return m, &InvalidError{
				Model: m.Name, Field: "name",
				Problem: "a model cannot be renamed; add one of the new name and remove this one",
			}
		}
		old := m
		m = *c.Replace
		keepSecrets(&m, &old)
	}
	if c.Scaling != nil {
		s := Scaling{Min: c.Scaling.Min, Max: c.Scaling.Max, IdleTimeout: c.Scaling.IdleTimeout}
		if m.Scaling != nil {
			s.Schedule = m.Scaling.Schedule
		}
		m.Scaling = &s
	}
	if c.Class != nil {
		m.Class = *c.Class
	}
	if c.Owner != nil {
		m.Owner = *c.Owner
	}
	if c.Resources != nil {
		return m, c.Resources.apply(&m)
	}
	return m, nil
}

func (r *Resources) apply(m *Model) error {
	ps := slices.Clone(m.Profiles)
	found := false
	for i := range ps {
		if (r.Profile == "" || ps[i].Name == r.Profile) && ps[i].Managed() {
			ps[i].MemoryGB, ps[i].CPUCores = r.MemoryGB, r.CPUCores
			found = true
		}
	}
	if !found {
		problem := "the model has no profile that llmgw starts, so it reserves nothing"
		if r.Profile != "" {
			problem = "the model has no profile " + quote(r.Profile) + " that llmgw starts"
		}
		return &InvalidError{Model: m.Name, Field: "profile", Problem: problem}
	}
	m.Profiles = ps
	return nil
}

// keepSecrets fills write-only keys that a new definition leaves out from the
// old one, for the same address only, and drops those that are set to nothing.
func keepSecrets(m, old *Model) {
	if m.External != nil {
		e := *m.External
		if e.Key == nil && old.External != nil && old.External.URL == e.URL {
			e.Key = old.External.Key
		}
		e.Key = something(e.Key)
		m.External = &e
	}
	keys := map[string]*string{}
	for _, p := range old.Profiles {
		for _, e := range p.Endpoints {
			keys[e.URL] = e.Key
		}
	}
	ps := slices.Clone(m.Profiles)
	for i := range ps {
		ps[i].Endpoints = slices.Clone(ps[i].Endpoints)
		for j, e := range ps[i].Endpoints {
			if e.Key == nil {
				e.Key = keys[e.URL]
			}
			ps[i].Endpoints[j].Key = something(e.Key)
		}
	}
	m.Profiles = ps
}

// something is nil for a key that is empty.
func something(key *string) *string {
	if key == nil || *key == "" {
		return nil
	}
	return key
}
