package replay

import (
	"reflect"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
)

// sameMix reports whether two mixes judge alike.
func sameMix(a, b placement.Mix) bool {
	if a.Version != b.Version || len(a.Parts) != len(b.Parts) {
		return false
	}
	return len(a.Parts) == 0 || &a.Parts[0] == &b.Parts[0] || slices.EqualFunc(a.Parts, b.Parts, func(x, y placement.MixPart) bool {
		return x.Weight == y.Weight && sameModel(x.Model, y.Model)
	})
}

func sameModel(a, b *catalog.Model) bool { return a == b || reflect.DeepEqual(a, b) }

func mixOf(m placement.Mix, x *catalog.Index) *mixForm {
	f := &mixForm{Version: m.Version}
	for _, p := range m.Parts {
		if p.Model == nil {
			continue
		}
		part := partForm{Model: p.Model.Name, Weight: p.Weight}
		if e, there := x.Get(p.Model.Name); !there || !sameModel(&e.Model, p.Model) {
			was := *p.Model
			part.Was = &was
		}
		f.Parts = append(f.Parts, part)
	}
	return f
}

func (f *mixForm) mix(x *catalog.Index) placement.Mix {
	m := placement.Mix{Version: f.Version}
	for _, p := range f.Parts {
		part := placement.MixPart{Model: p.Was, Weight: p.Weight}
		if part.Model == nil {
			part.Model = &catalog.Model{Name: p.Model}
			if e, there := x.Get(p.Model); there {
				part.Model = &e.Model
			}
		}
		m.Parts = append(m.Parts, part)
	}
	return m
}
