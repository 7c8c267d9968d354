package placement

import (
	"cmp"
	"reflect"
	"slices"

	"llmgw.io/llmgw/catalog"
)

// Mix is what is asked of the fleet in the long run: which models, in which
// proportion. The score judges by it what a placement spoils for others. The
// zero value stands for models of 1, 2, 4 and 8 devices, equally often.
//
// It is a slow value: take Next at every look and keep what it gives, so that
// single replicas change no score. A journal that keeps the version can replay
// decisions.
type Mix struct {
	// Version tells mixes apart; it rises when Next changes something.
	Version uint64
	Parts   []MixPart
}

// MixPart is one model of a mix. Its weight counts beside the others' only; one
// of zero or less is left out.
type MixPart struct {
	Model  *catalog.Model
	Weight float64
}

// Wanted is what a mix is made of: how many replicas of a model are wanted, and
// how many more were asked for lately and refused.
type Wanted struct {
	Model             *catalog.Model
	Replicas, Refused int
}

// Next is the mix for what is wanted now, in whatever order: m as it was while every
// model's share is within a half of what it was, else a new one.
func (m Mix) Next(wanted []Wanted) Mix {
	next := Mix{Version: m.Version + 1, Parts: make([]MixPart, 0, len(wanted))}
	for _, w := range wanted {
		if weight := float64(w.Replicas + w.Refused); weight > 0 && w.Model != nil {
			next.Parts = append(next.Parts, MixPart{Model: w.Model, Weight: weight})
		}
	}
	slices.SortStableFunc(next.Parts, func(a, b MixPart) int { return cmp.Compare(a.Model.Name, b.Model.Name) })
	if m.near(next) {
		return m.renewed(next)
	}
	return next
}

// renewed is the same mix with models that are equal and may lie elsewhere, so
// that comparing the two again costs nothing.
func (m Mix) renewed(next Mix) Mix {
	for i := range m.Parts {
		if m.Parts[i].Model != next.Parts[i].Model {
			for k := range next.Parts {
				next.Parts[k].Weight = m.Parts[k].Weight
			}
			return Mix{Version: m.Version, Parts: next.Parts}
		}
	}
	return m
}

// near reports whether two mixes are of the same models in about the same
// proportion.
func (m Mix) near(o Mix) bool {
	if len(m.Parts) != len(o.Parts) {
		return false
	}
	of, all := m.total(), o.total()
	for i := range m.Parts {
		a, b := &m.Parts[i], &o.Parts[i]
		if a.Model != b.Model && !reflect.DeepEqual(a.Model, b.Model) {
			return false
		}
		if r := (a.Weight / of) / (b.Weight / all); r > 1.5 || r < 1/1.5 {
			return false
		}
	}
	return true
}

func (m Mix) total() float64 {
	sum := 0.0
	for _, p := range m.Parts {
		sum += p.Weight
	}
	return sum
}
