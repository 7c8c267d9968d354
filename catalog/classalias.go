package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// CheckClassAliases returns every complaint about aliases of device classes at
// once, joined and in the order of the aliases. A chain of aliases is refused,
// and with it every cycle.
func CheckClassAliases(aliases inventory.ClassAliases) error {
	var all []error
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		if problem := aliasProblem(aliases, alias); problem != "" {
			all = append(all, fmt.Errorf("class_aliases: %q: %s", alias, problem))
		}
	}
	return errors.Join(all...)
}

func aliasProblem(aliases inventory.ClassAliases, alias inventory.Class) string {
	class := aliases[alias]
	next, chained := aliases[class]
	switch {
	case !plainWord(string(alias)):
		return "it is no word that a device class can have; use one such as h100"
	case !plainWord(string(class)):
		return fmt.Sprintf("%q is no device class; use one such as H100-80 or 3g.40gb", class)
	case class == alias:
		return "it stands for itself; leave it out"
	case chained:
		return fmt.Sprintf("%q is an alias too, of %q; name the class itself", class, next)
	case MIGClass(alias) && !MIGClass(class):
		return fmt.Sprintf("an instance of a partitioned card is no %s; name the class of an instance, such as 3g.40gb", class)
	}
	return ""
}

// called is a definition with classes for their aliases. What it is given is not
// changed.
func called(m Model, aliases inventory.ClassAliases) Model {
	aliased := func(p Profile) bool { return p.GPU != nil && aliases.Of(p.GPU.Class) != p.GPU.Class }
	if !slices.ContainsFunc(m.Profiles, aliased) {
		return m
	}
	m.Profiles = slices.Clone(m.Profiles)
	for i := range m.Profiles {
		if p := &m.Profiles[i]; aliased(*p) {
			g := *p.GPU
			g.Class = aliases.Of(g.Class)
			p.GPU = &g
		}
	}
	return m
}
