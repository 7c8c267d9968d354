package adminapi

import (
	"errors"
	"net/http"
	"strings"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement/reconciler"
)

func (a *API) listModels(c *call) ([]view.ModelView, error) {
	return page(c, view.ModelsOf(c.world()), func(m view.ModelView) string { return m.Name })
}

func (a *API) addModel(c *call, m view.Model) (view.Added, error) {
	e, err := a.cfg.Models.Add(c.r.Context(), m, c.author(""))
	if err != nil {
		return view.Added{}, err
	}
	c.etag(e.Revision)
	return view.Added{Added: string(e.Model.Name)}, nil
}

func (a *API) getModel(c *call) (view.Model, error) {
	e, err := named(c, a.cfg.Models.Index())
	if err != nil {
		return view.Model{}, err
	}
	c.etag(e.Revision)
	return view.DefinitionOf(e), nil
}

func (a *API) putModel(c *call, m view.Model) (view.Model, error) {
	if name := c.param("name"); string(m.Name) != name {
		return view.Model{}, invalid("the model definition is of %q and the path names %q; a model cannot be renamed, so add one of the new name and remove this one", m.Name, name)
	}
	e, err := a.change(c, catalog.Change{Replace: &m})
	if err != nil {
		return view.Model{}, err
	}
	return view.DefinitionOf(e), nil
}

func (a *API) removeModel(c *call) (view.Removed, error) {
	e, err := named(c, a.cfg.Models.Index())
	if err != nil {
		return view.Removed{}, err
	}
	expected, err := c.expected()
	if err != nil {
		return view.Removed{}, err
	}
	if err := a.cfg.Models.Remove(c.r.Context(), e.Model.Name, expected, c.author("")); err != nil {
		return view.Removed{}, err
	}
	return view.Removed{Removed: string(e.Model.Name)}, nil
}

// scaleTries is how often a scaling that rests on an idle timeout which has just
// been changed is made anew.
const scaleTries = 3

func (a *API) scaleModel(c *call, in view.ScaleRequest) (view.ScaleResponse, error) {
	guard, err := c.expected()
	if err != nil {
		return view.ScaleResponse{}, err
	}
	for try := 1; ; try++ {
		old, err := named(c, a.cfg.Models.Index())
		if err != nil {
			return view.ScaleResponse{}, err
		}
		if err := checkScale(in); err != nil {
			return view.ScaleResponse{}, err
		}
		s, expected := scalingOf(in, old), guard
		if expected == nil {
			expected = &old.Revision // what is left out is of that revision
		}
		e, err := a.cfg.Models.Change(c.r.Context(), old.Model.Name, catalog.Change{Scaling: &s}, expected, c.author(""))
		switch {
		case err == nil:
			c.etag(e.Revision)
			return view.ScaleOf(&e), nil
		case guard != nil || try == scaleTries || !errors.Is(err, catalog.ErrStale):
			return view.ScaleResponse{}, err
		}
	}
}

// scalingOf fills in what a request leaves out.
func scalingOf(in view.ScaleRequest, old *catalog.Entry) catalog.Scaling {
	s := catalog.Scaling{Min: in.Min, Max: in.Max}
	switch {
	case in.IdleTimeout != nil:
		s.IdleTimeout = *in.IdleTimeout
	case old.Model.Scaling != nil:
		s.IdleTimeout = old.Model.Scaling.IdleTimeout
	}
	return s
}

// checkScale complains in the words of the request: the catalog would speak of
// the definition.
func checkScale(in view.ScaleRequest) error {
	var all []string
	if in.Min < 0 {
		all = append(all, "min is below zero")
	}
	if in.Max != nil && *in.Max < in.Min {
		all = append(all, "max is below min; leave max out to follow min")
	}
	if in.IdleTimeout != nil && *in.IdleTimeout < 0 {
		all = append(all, "idle_timeout is below zero")
	}
	if len(all) == 0 {
		return nil
	}
	return invalid("the scaling request is wrong: %s", strings.Join(all, "; "))
}

func (a *API) setResources(c *call, in view.ResourcesRequest) (view.Model, error) {
	if in.MemoryGB < 0 || in.CPUCores < 0 {
		return view.Model{}, invalid("the resources request is wrong: memory_gb and cpu_cores may not be below zero; 0 reserves nothing")
	}
	e, err := a.change(c, catalog.Change{Resources: &catalog.Resources{Profile: in.Profile, MemoryGB: in.MemoryGB, CPUCores: in.CPUCores}})
	if err != nil {
		return view.Model{}, err
	}
	return view.DefinitionOf(e), nil
}

func (a *API) setClass(c *call, in view.ClassRequest) (view.ClassResponse, error) {
	class := catalog.Class(in.Class)
	if in.Class == "" || !class.Valid() {
		return view.ClassResponse{}, invalid("the class request names the class %q; it is one of %s", clip(in.Class), listed(catalog.Classes))
	}
	e, err := a.change(c, catalog.Change{Class: &class})
	if err != nil {
		return view.ClassResponse{}, err
	}
	return view.ClassResponse{Model: string(e.Model.Name), Class: string(e.Model.Class.OrDefault())}, nil
}

// change edits the model of the path, at the revision that If-Match guards.
func (a *API) change(c *call, ch catalog.Change) (*catalog.Entry, error) {
	old, err := named(c, a.cfg.Models.Index())
	if err != nil {
		return nil, err
	}
	expected, err := c.expected()
	if err != nil {
		return nil, err
	}
	e, err := a.cfg.Models.Change(c.r.Context(), old.Model.Name, ch, expected, c.author(""))
	if err != nil {
		return nil, err
	}
	c.etag(e.Revision)
	return &e, nil
}

// named finds the model of the path by its own name. An alias is not found: a
// tool must not take one for a model it manages.
func named(c *call, x *catalog.Index) (*catalog.Entry, error) {
	name := catalog.Name(c.param("name"))
	if e, ok := x.Get(name); ok {
		return e, nil
	}
	if e, ok := x.Resolve(name); ok {
		return nil, missing("%q is no model but another name of %q; use that name here", name, e.Model.Name)
	}
	return nil, noModel(name)
}

// resolved finds a model by its name, an alias or an adapter's name.
func resolved(x *catalog.Index, name string) (*catalog.Entry, error) {
	if x != nil {
		if e, ok := x.Resolve(catalog.Name(name)); ok {
			return e, nil
		}
	}
	return nil, noModel(catalog.Name(name))
}

func noModel(name catalog.Name) error {
	return missing("there is no model %q; GET %s/models lists them", clip(string(name)), Base)
}

// listed is a closed list in words.
func listed[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

func (a *API) retryModel(c *call) (view.RetryResponse, error) {
	e, err := resolved(a.look().Catalog, c.param("name"))
	if err != nil {
		return view.RetryResponse{}, err
	}
	if err := a.record(c, "model:"+string(e.Model.Name), nil); err != nil {
		return view.RetryResponse{}, err
	}
	was, err := a.cfg.Operator.Retry(c.r.Context(), e.Model.Name)
	if err != nil {
		return view.RetryResponse{}, err
	}
	return view.RetryResponse{WasParked: was}, nil
}

func (a *API) target(c *call) (view.Target, error) {
	w := c.world()
	e, err := resolved(w.View.Catalog, c.param("name"))
	if err != nil {
		return view.Target{}, err
	}
	return view.TargetOf(w, e), nil
}

// Bounds of a headroom trial.
const (
	usualTrial  = 16
	widestTrial = 64
)

func (a *API) headroom(c *call) (view.Headroom, error) {
	limit, err := c.number("limit", usualTrial)
	if err != nil {
		return view.Headroom{}, err
	}
	if limit <= 0 {
		limit = usualTrial
	}
	w := c.world()
	e, err := resolved(w.View.Catalog, c.param("name"))
	if err != nil {
		return view.Headroom{}, err
	}
	h, err := a.cfg.Cluster.Headroom(e.Model.Name, min(limit, widestTrial))
	if err != nil {
		return view.Headroom{}, err
	}
	return view.HeadroomOf(w, e, h), nil
}

func (a *API) explain(c *call) (view.Explain, error) {
	name := c.r.URL.Query().Get("model")
	if name == "" {
		return view.Explain{}, refuse(http.StatusBadRequest, codeInvalid, "say which model: explain-placement?model=NAME")
	}
	w := c.world()
	e, err := resolved(w.View.Catalog, name)
	if err != nil {
		return view.Explain{}, err
	}
	var help reconciler.Help
	if trace, tried := w.View.Traces[e.Model.Name]; tried {
		if _, placed := trace.Placed(); !placed {
			if help, err = a.cfg.Cluster.Help(e.Model.Name); err != nil {
				return view.Explain{}, err
			}
		}
	}
	return view.ExplainOf(w, e, help), nil
}
