package adminapi

import (
	"errors"
	"strings"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/dryrun"
)

func (a *API) planChange(c *call, in view.PlanRequest) (view.ChangePlan, error) {
	var change dryrun.Change
	var err error
	switch named := given(choice{"model", in.Model != nil}, choice{"node", in.Node != nil}, choice{"hold", in.Hold != nil}); {
	case len(named) != 1:
		return view.ChangePlan{}, oneOf("the change", named, "model, node or hold")
	case in.Model != nil:
		change.Model, err = a.modelChange(in.Model)
	case in.Node != nil:
		change.Node, err = nodeChange(in.Node)
	default:
		change.Hold, err = c.holdChange(in.Hold)
	}
	if err != nil {
		return view.ChangePlan{}, err
	}
	r, err := a.cfg.Cluster.PlanChange(change)
	switch {
	case change.Node != nil && errors.Is(err, inventory.ErrNotFound):
		return view.ChangePlan{}, noNode(in.Node.ID)
	case change.Hold != nil && errors.Is(err, inventory.ErrNoHold):
		return view.ChangePlan{}, notHeld(change.Hold.Hold.Domain)
	case err != nil:
		return view.ChangePlan{}, err
	}
	v := view.ChangePlanOf(r)
	if change.Hold != nil {
		v.Notes = append(v.Notes, c.notesOn(change.Hold.Hold.Domain)...)
		if !change.Hold.Release && len(v.Moved)+len(v.Preempted)+len(v.Lost) > 0 {
			v.Notes = append(v.Notes, view.HoldChangeNote)
		}
	}
	return v, nil
}

// choice is one of the fields that exclude each other: its name, and whether it is
// there.
type choice struct {
	name string
	is   bool
}

// given are the names of the fields that are there.
func given(fields ...choice) []string {
	var out []string
	for _, f := range fields {
		if f.is {
			out = append(out, f.name)
		}
	}
	return out
}

// oneOf refuses a request with none or several of what excludes each other.
func oneOf(what string, named []string, list string) error {
	has := "none"
	if len(named) > 0 {
		has = strings.Join(named, " and ")
	}
	return invalid("%s must have exactly one of %s, and has %s", what, list, has)
}

func (a *API) modelChange(in *view.PlanModel) (*dryrun.ModelChange, error) {
	named := given(
		choice{"definition", in.Definition != nil}, choice{"scale", in.Scale != nil}, choice{"class", in.Class != ""},
		choice{"resources", in.Resources != nil}, choice{"remove", in.Remove},
	)
	if len(named) != 1 {
		return nil, oneOf("the change of a model", named, "definition, scale, class, resources or remove")
	}
	out := &dryrun.ModelChange{Name: catalog.Name(in.Name), Put: in.Definition, Remove: in.Remove}
	switch {
	case in.Scale != nil:
		if err := checkScale(*in.Scale); err != nil {
			return nil, err
		}
		old, ok := a.look().Catalog.Get(out.Name)
		if !ok {
			return nil, noModel(out.Name)
		}
		s := scalingOf(*in.Scale, old)
		out.Edit = &catalog.Change{Scaling: &s}
	case in.Class != "":
		class := catalog.Class(in.Class)
		if !class.Valid() {
			return nil, invalid("the change of a model names the class %q; it is one of %s", clip(in.Class), listed(catalog.Classes))
		}
		out.Edit = &catalog.Change{Class: &class}
	case in.Resources != nil:
		r := catalog.Resources{Profile: in.Resources.Profile, MemoryGB: in.Resources.MemoryGB, CPUCores: in.Resources.CPUCores}
		out.Edit = &catalog.Change{Resources: &r}
	}
	return out, nil
}

func nodeChange(in *view.PlanNode) (*dryrun.NodeChange, error) {
	if named := given(choice{"state", in.State != ""}, choice{"labels", len(in.Labels) > 0}); len(named) != 1 {
		return nil, oneOf("the change of a node", named, "state or labels")
	}
	out := &dryrun.NodeChange{ID: inventory.NodeID(in.ID), Labels: in.Labels}
	switch in.State {
	case "":
	case string(inventory.StateLost):
		out.Lost = true
	case "removed":
		out.Remove = true
	default:
		wish, ok := wishes(in.State)
		if !ok {
			return nil, invalid("the change of a node names the state %q; it is one of ready, cordoned, draining, lost, removed", clip(in.State))
		}
		out.Wish = &wish
	}
	return out, nil
}

func (c *call) holdChange(in *view.PlanHold) (*dryrun.HoldChange, error) {
	d, err := inventory.ParseDomain(in.Domain)
	if err != nil {
		return nil, err
	}
	h := inventory.Hold{Domain: d, By: c.who.Principal, Since: c.now, From: in.From.UTC(), Until: in.Until.UTC()}
	if in.Release && (!h.From.IsZero() || !h.Until.IsZero()) {
		return nil, invalid("the change of a hold releases it, and has from or until, too; leave those out")
	}
	return &dryrun.HoldChange{Hold: h, Release: in.Release}, nil
}
