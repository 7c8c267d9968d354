package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
)

// Report is what was seen of a model's weights.
type Report struct {
	// At is when.
	At time.Time
	// Architecture, Context and Layers are what the header of a GGUF file says, and
	// Bytes what the files of the model have together. Empty and zero: not known.
	Architecture    string
	Context, Layers int
	Bytes           int64
	// Wrong is why no node can serve from them, and Unsure what could not be seen.
	Wrong  []Fault
	Unsure []string

	of    [32]byte // what was looked at
	blind bool
	hasty bool // somebody waited for it, and it was not done
}

// Fault is one thing that is wrong, with the field of the definition.
type Fault struct {
	Field, Text string
}

func (r *Report) err(name catalog.Name) error {
	var all []error
	for _, f := range r.Wrong {
		all = append(all, &catalog.InvalidError{Model: name, Field: f.Field, Problem: f.Text})
	}
	return errors.Join(all...)
}

// printOf is of all in a definition that decides what is looked at.
func printOf(m *catalog.Model) [32]byte {
	var engines []catalog.Engine
	for i := range m.Profiles {
		engines = append(engines, m.Profiles[i].Engine)
	}
	b, err := json.Marshal([]any{m.Source, m.Files, m.Adapters, engines})
	if err != nil {
		panic("inspect: a definition does not encode: " + err.Error())
	}
	return sha256.Sum256(b)
}

// look looks at all that a definition names, for so long.
func (i *Inspector) look(ctx context.Context, m *catalog.Model, limit time.Duration) Report {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := Report{At: time.Now(), of: printOf(m), blind: true}
	for _, engine := range enginesOf(m) {
		w, err := fetch.Weights(protocol.DesiredShard{Engine: engine, Source: m.Source, Files: filesOf(m)})
		r.add(m, "source", i.see(ctx, w, err), true)
	}
	for k, a := range m.Adapters {
		// Profiles are tried in order, so adapters are those of the first.
		engine := catalog.EngineSim
		if engines := enginesOf(m); len(engines) > 0 {
			engine = engines[0]
		}
		w, err := fetch.Adapter(protocol.DesiredFile{Name: string(a.Name), From: []string{a.Source}}, engine)
		s := i.see(ctx, w, err)
		if s.Architecture != "" && r.Architecture != "" && s.Architecture != r.Architecture {
			s.Wrong = append(s.Wrong, fetch.Fault{Text: fmt.Sprintf("the adapter is for the architecture %s and the model is %s; use one that was made for this model", s.Architecture, r.Architecture)})
		}
		r.add(m, "adapters["+strconv.Itoa(k)+"].source", s, false)
	}
	r.hasty = ctx.Err() != nil
	return r
}

// see looks at one set. What cannot even be called one is wrong.
func (i *Inspector) see(ctx context.Context, w fetch.Set, err error) fetch.Seen {
	if err != nil {
		return fetch.Seen{Wrong: []fetch.Fault{{Text: err.Error()}}}
	}
	return i.cfg.Looker.Look(ctx, w)
}

// add takes what was seen of one source.
func (r *Report) add(m *catalog.Model, field string, s fetch.Seen, model bool) {
	r.blind = r.blind && s.Blind
	if model {
		if s.Architecture != "" {
			r.Architecture, r.Context, r.Layers = s.Architecture, s.Context, s.Layers
		}
		r.Bytes = max(r.Bytes, s.Bytes)
	}
	for _, f := range s.Wrong {
		at := field
		if n := slices.IndexFunc(m.Files, func(o catalog.File) bool { return o.Path == f.File }); model && n >= 0 {
			at = "files[" + strconv.Itoa(n) + "]"
		}
		if fault := (Fault{Field: at, Text: f.Text}); !slices.Contains(r.Wrong, fault) {
			r.Wrong = append(r.Wrong, fault)
		}
	}
	for _, text := range s.Unsure {
		if text = field + ": " + text; !slices.Contains(r.Unsure, text) {
			r.Unsure = append(r.Unsure, text)
		}
	}
}

// enginesOf are those that read the model's weights, each once.
func enginesOf(m *catalog.Model) []catalog.Engine {
	var out []catalog.Engine
	for i := range m.Profiles {
		p := &m.Profiles[i]
		if p.Managed() && p.Engine != catalog.EngineSim && !slices.Contains(out, p.Engine) {
			out = append(out, p.Engine)
		}
	}
	return out
}

func filesOf(m *catalog.Model) []protocol.DesiredFile {
	var out []protocol.DesiredFile
	for _, f := range m.Files {
		out = append(out, protocol.DesiredFile{Path: f.Path, SHA256: f.SHA256, Bytes: f.Bytes})
	}
	return out
}
