package catalog

import (
	"errors"
	"slices"
	"strings"
)

// ValidateAll checks definitions against each other: names that collide,
// fallbacks and candidates that are missing or lead in a circle. It does not
// repeat what Validate says of each alone. Complaints are in order of name.
func ValidateAll(x *Index) error {
	var all []error
	owners := nameOwners(x)
	for i := range x.entries {
		all = append(all, againstOthers(x, owners, &x.entries[i].Model)...)
	}
	return errors.Join(all...)
}

// ValidateIn checks one definition, by itself and against the others of the
// index it is part of.
func ValidateIn(x *Index, m *Model) error {
	return errors.Join(append([]error{Validate(m)}, againstOthers(x, nameOwners(x), m)...)...)
}

// claim is one use of a name.
type claim struct {
	model Name
	as    string
}

// nameOwners lists who uses each folded name, in order of models.
func nameOwners(x *Index) map[string][]claim {
	owners := make(map[string][]claim, len(x.entries))
	add := func(n Name, c claim) { owners[n.fold()] = append(owners[n.fold()], c) }
	for i := range x.entries {
		m := &x.entries[i].Model
		add(m.Name, claim{m.Name, "the model"})
		for _, a := range m.Aliases {
			add(a, claim{m.Name, "an alias of"})
		}
		for _, a := range m.Adapters {
			add(a.Name, claim{m.Name, "an adapter of"})
		}
	}
	return owners
}

func againstOthers(x *Index, owners map[string][]claim, m *Model) []error {
	c := &complaints{model: m.Name}
	check := func(field string, n Name) {
		for _, o := range owners[n.fold()] {
			if o.model != m.Name {
				c.collide(field, "%q is taken: it is %s %q; names may not differ only in case", n, o.as, o.model)
				return
			}
		}
	}
	check("name", m.Name)
	for i, a := range m.Aliases {
		check(at("aliases", i), a)
	}
	for i, a := range m.Adapters {
		check(at("adapters", i)+".name", a.Name)
	}
	for i, a := range m.Apart {
		if a != m.Name && a.Valid() {
			checkKnown(c, x, at("apart", i), a)
		}
	}
	checkFallbacks(c, x, m)
	if k := m.Canary; k != nil && k.Model.Valid() && k.Model != m.Name {
		if e, ok := x.Get(k.Model); !ok {
			c.add("canary.model", "there is no model %q; add it first", k.Model)
		} else if e.Model.Canary != nil {
			c.add("canary.model", "%q has a candidate of its own; a candidate cannot have one", k.Model)
		}
	}
	if of, is := candidateOf(x, m.Name); is && m.Canary != nil && m.Canary.Model != m.Name {
		c.add("canary", "%q is itself the candidate of %q; a candidate cannot have one", m.Name, of)
	}
	return c.list
}

// candidateOf finds the model that another one is the candidate of.
func candidateOf(x *Index, name Name) (of Name, is bool) {
	for i := range x.entries {
		m := &x.entries[i].Model
		if m.Canary != nil && m.Canary.Model == name && m.Name != name {
			return m.Name, true
		}
	}
	return "", false
}

// checkKnown complains about a model that is not there, or that is not named by
// its own name.
func checkKnown(c *complaints, x *Index, field string, name Name) bool {
	_, ok := x.Get(name)
	if ok {
		return true
	}
	if e, alias := x.Resolve(name); alias {
		c.add(field, "%q is an alias; name the model %q itself", name, e.Model.Name)
	} else {
		c.add(field, "there is no model %q; add it first, or leave it out", name)
	}
	return false
}

// checkFallbacks complains about fallbacks that are missing, and about a circle
// that leads back to the model.
func checkFallbacks(c *complaints, x *Index, m *Model) {
	for i, f := range m.Fallbacks {
		if f == m.Name || !f.Valid() || !checkKnown(c, x, at("fallbacks", i), f) {
			continue
		}
		if circle := pathTo(x, f, m.Name, nil); circle != nil {
			c.add(at("fallbacks", i), "the fallbacks lead in a circle: %s", joinNames(append([]Name{m.Name}, circle...)))
		}
	}
}

// pathTo finds a way along fallbacks; nil when there is none.
func pathTo(x *Index, from, to Name, seen map[Name]bool) []Name {
	if from == to {
		return []Name{to}
	}
	if seen == nil {
		seen = map[Name]bool{}
	}
	if seen[from] {
		return nil
	}
	seen[from] = true
	e, ok := x.Get(from)
	if !ok {
		return nil
	}
	for _, next := range e.Model.Fallbacks {
		if rest := pathTo(x, next, to, seen); rest != nil {
			return slices.Insert(rest, 0, from)
		}
	}
	return nil
}

func joinNames(ns []Name) string {
	parts := make([]string, len(ns))
	for i, n := range ns {
		parts[i] = string(n)
	}
	return strings.Join(parts, " -> ")
}
