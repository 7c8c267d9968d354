package catalog

import (
	"fmt"
	"slices"
)

// With is the index as it would be with a definition added, or in place of the one
// of its name: what Service makes of it, declared or not, on trial. Write-only
// keys that it leaves out are kept. Errors are joined InvalidErrors.
func (x *Index) With(m Model) (*Index, error) {
	m = called(m, x.classes)
	next := Entry{Model: m, Revision: 1}
	if old, ok := x.Get(m.Name); ok {
		next = *old
		next.Model, next.Revision = m, old.Revision+1
		keepSecrets(&next.Model, &old.Model)
	}
	out := x.next(append(x.others(m.Name), next))
	if err := ValidateIn(out, &m); err != nil {
		return nil, err
	}
	return out, nil
}

// Changed is the index as it would be with a definition edited. An unknown name
// answers ErrNotFound; the other errors are joined InvalidErrors.
func (x *Index) Changed(name Name, c Change) (*Index, error) {
	old, ok := x.Get(name)
	if !ok {
		return nil, fmt.Errorf("%w: %q; list the models to see their names", ErrNotFound, name)
	}
	m, err := c.apply(old.Model)
	if err != nil {
		return nil, err
	}
	return x.With(m)
}

// Without is the index as it would be without a definition. An unknown name
// answers ErrNotFound, and one that others name ErrInUse.
func (x *Index) Without(name Name) (*Index, error) {
	if _, ok := x.Get(name); !ok {
		return nil, fmt.Errorf("%w: %q; list the models to see their names", ErrNotFound, name)
	}
	if users := x.UsedBy(name); len(users) > 0 {
		return nil, fmt.Errorf("%w: %s name model %q as a fallback or a candidate; change them first", ErrInUse, listNames(users), name)
	}
	return x.next(x.others(name)), nil
}

func (x *Index) next(entries []Entry) *Index {
	out := NewIndex(x.version+1, entries)
	out.classes = x.classes
	return out
}

func (x *Index) others(name Name) []Entry {
	return slices.DeleteFunc(slices.Clone(x.entries), func(e Entry) bool { return e.Model.Name == name })
}
