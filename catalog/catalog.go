package catalog

import (
	"cmp"
	"maps"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// Index is an immutable view of every definition in force, by name, alias and
// adapter. The zero Index is empty and ready to use.
type Index struct {
	version uint64
	entries []Entry // ordered by name
	byName  map[Name]int
	alias   map[Name]Name // alias or adapter's name to the model's name
	apart   map[Name][]Name
	classes inventory.ClassAliases // of definitions that are tried on it
}

// NewIndex makes an index of entries, which it then owns. It does not validate:
// see Validate. Of two entries of one name the first wins.
func NewIndex(version uint64, entries []Entry) *Index {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Model.Name, b.Model.Name) })
	entries = slices.CompactFunc(entries, func(a, b Entry) bool { return a.Model.Name == b.Model.Name })
	x := &Index{version: version, entries: entries, byName: make(map[Name]int, len(entries)), alias: map[Name]Name{}}
	for i := range entries {
		m := &entries[i].Model
		x.byName[m.Name] = i
		for _, a := range m.Aliases {
			x.alias[a] = m.Name
		}
		for _, a := range m.Adapters {
			x.alias[a.Name] = m.Name
		}
	}
	x.keepApart()
	return x
}

// keepApart notes for both of two models that they share no node.
func (x *Index) keepApart() {
	x.apart = map[Name][]Name{}
	for i := range x.entries {
		m := &x.entries[i].Model
		for _, other := range m.Apart {
			x.apart[m.Name] = append(x.apart[m.Name], other)
			x.apart[other] = append(x.apart[other], m.Name)
		}
	}
	for name, others := range x.apart {
		slices.Sort(others)
		x.apart[name] = slices.Compact(others)
	}
}

// Apart are the models that a model shares no node with: those that it names, and
// those that name it, in order; shared, read only.
func (x *Index) Apart(name Name) []Name { return x.apart[name] }

// Version rises with every change of the catalog.
func (x *Index) Version() uint64 { return x.version }

// Entries returns every definition, ordered by name; shared, read only.
func (x *Index) Entries() []Entry { return x.entries }

// Get finds a definition by its own name; an alias is not found.
func (x *Index) Get(name Name) (*Entry, bool) {
	i, ok := x.byName[name]
	if !ok {
		return nil, false
	}
	return &x.entries[i], true
}

// Resolve finds a definition by name, alias or adapter's name.
func (x *Index) Resolve(name Name) (*Entry, bool) {
	if e, ok := x.Get(name); ok {
		return e, true
	}
	to, ok := x.alias[name]
	if !ok {
		return nil, false
	}
	return x.Get(to)
}

// Names returns every name clients may use: models, aliases and adapters, in
// order.
func (x *Index) Names() []Name {
	out := slices.AppendSeq(make([]Name, 0, len(x.byName)+len(x.alias)), maps.Keys(x.byName))
	out = slices.AppendSeq(out, maps.Keys(x.alias))
	slices.Sort(out)
	return out
}

// UsedBy returns the models that name this one as a fallback, a canary or one to
// stay apart from, in order.
func (x *Index) UsedBy(name Name) []Name {
	var out []Name
	for i := range x.entries {
		m := &x.entries[i].Model
		if slices.Contains(m.Fallbacks, name) || slices.Contains(m.Apart, name) || (m.Canary != nil && m.Canary.Model == name) {
			out = append(out, m.Name)
		}
	}
	return out
}
