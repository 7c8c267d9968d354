package replay

import (
	"encoding/json"
	"slices"

	"llmgw.io/llmgw/catalog"
)

// hide leaves secrets out of what is written down: keys of endpoints and of other
// providers always, and what the writer's Redact knows by its name.
func (e *Encoder) hide(f *form) error {
	if f.Catalog != nil {
		for i := range f.Catalog.Put {
			m := &f.Catalog.Put[i].Model
			hideModel(m)
			if err := redacted(e, m); err != nil {
				return err
			}
		}
	}
	if f.Memory != nil {
		if err := e.hideMemory(f.Memory); err != nil {
			return err
		}
	}
	if f.Replicas != nil {
		for i := range f.Replicas.Put {
			if err := e.hideReplica(&f.Replicas.Put[i]); err != nil {
				return err
			}
		}
	}
	for i := range f.Decided.Actions {
		if r := f.Decided.Actions[i].Replica; r != nil {
			if err := e.hideReplica(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// hideMemory leaves them out of definitions that are remembered: those that the
// mix is of, and what a replica was that a rollout stopped.
func (e *Encoder) hideMemory(f *memoryForm) error {
	if f.Mix != nil {
		for i := range f.Mix.Parts {
			if m := f.Mix.Parts[i].Was; m != nil {
				hideModel(m)
				if err := redacted(e, m); err != nil {
					return err
				}
			}
		}
	}
	for name, m := range f.Models.Put {
		if m.Former == nil {
			continue
		}
		was := *m.Former
		hideProfile(&was.Profile)
		if err := redacted(e, &was); err != nil {
			return err
		}
		m.Former = &was
		f.Models.Put[name] = m
	}
	return nil
}

func hideModel(m *catalog.Model) {
	if m.External != nil && m.External.Key != nil {
		x := *m.External
		x.Key = nil
		m.External = &x
	}
	m.Profiles = slices.Clone(m.Profiles)
	for i := range m.Profiles {
		hideProfile(&m.Profiles[i])
	}
}

func hideProfile(p *catalog.Profile) {
	p.Endpoints = slices.Clone(p.Endpoints)
	for i := range p.Endpoints {
		p.Endpoints[i].Key = nil
	}
}

func (e *Encoder) hideReplica(r *replicaForm) error {
	hideProfile(&r.Profile)
	if len(r.Profile.Args) == 0 && len(r.Profile.Env) == 0 && r.Source == "" && len(r.Adapters) == 0 {
		return nil
	}
	return redacted(e, r)
}

// redacted replaces what Redact knows of a value.
func redacted[T any](e *Encoder, v *T) error {
	if e.Redact == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text := e.Redact(string(b))
	if text == string(b) {
		return nil
	}
	var out T
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return err
	}
	*v = out
	return nil
}
