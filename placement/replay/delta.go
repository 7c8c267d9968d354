package replay

import (
	"cmp"
	"maps"
	"slices"
)

// delta is what turns one map into another.
type delta[K cmp.Ordered, V any] struct {
	Put  map[K]V `json:"put,omitempty"`
	Gone []K     `json:"gone,omitempty"`
}

// between is what turns was into is.
func between[K cmp.Ordered, V any](was, is map[K]V, same func(a, b V) bool) delta[K, V] {
	var d delta[K, V]
	for k, v := range is {
		if old, there := was[k]; there && same(old, v) {
			continue
		}
		if d.Put == nil {
			d.Put = map[K]V{}
		}
		d.Put[k] = v
	}
	for k := range was {
		if _, still := is[k]; !still {
			d.Gone = append(d.Gone, k)
		}
	}
	slices.Sort(d.Gone)
	return d
}

// IsZero reports whether nothing changed.
func (d delta[K, V]) IsZero() bool { return len(d.Put) == 0 && len(d.Gone) == 0 }

// onto makes the change on a copy. What is empty is nil.
func (d delta[K, V]) onto(was map[K]V) map[K]V {
	if d.IsZero() {
		return was
	}
	out := maps.Clone(was)
	if out == nil {
		out = map[K]V{}
	}
	maps.Copy(out, d.Put)
	for _, k := range d.Gone {
		delete(out, k)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func equal[V comparable](a, b V) bool { return a == b }

// said is a list that changed, also to none: a missing one says that it did not.
func said[V any](list []V) *[]V {
	if list == nil {
		list = []V{}
	}
	return &list
}
