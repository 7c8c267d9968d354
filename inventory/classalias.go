package inventory

import "slices"

// ClassAliases are an operator's other names for classes of devices: the class,
// by alias. They hold for what nodes report and for what definitions ask for, so
// that everything behind speaks of classes alone. Nil has none. Reading them is
// safe at once.
type ClassAliases map[Class]Class

// Of is the class that a name stands for: itself, where it is no alias. It looks
// once: an alias of an alias is none.
func (a ClassAliases) Of(name Class) Class {
	if class, ok := a[name]; ok {
		return class
	}
	return name
}

// facts are a node's facts with its devices' classes for their aliases. What it
// is given is not changed.
func (a ClassAliases) facts(f *Facts) *Facts {
	aliased := func(d Device) bool { return a.Of(d.Class) != d.Class }
	if len(a) == 0 || f == nil || !slices.ContainsFunc(f.Devices, aliased) {
		return f
	}
	out := *f
	out.Devices = slices.Clone(f.Devices)
	for i := range out.Devices {
		out.Devices[i].Class = a.Of(out.Devices[i].Class)
	}
	return &out
}
