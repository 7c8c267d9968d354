package adminapi

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

func (a *API) facility(c *call) (view.FacilityReport, error) { return view.FacilityOf(c.world()), nil }

func (a *API) hold(c *call, in view.HoldRequest) (view.Hold, error) {
	d, err := inventory.ParseDomain(in.Domain)
	if err != nil {
		return view.Hold{}, err
	}
	h, err := a.cfg.Nodes.Hold(c.r.Context(), inventory.Hold{Domain: d, Reason: in.Reason, From: in.From, Until: in.Until}, c.now, c.author(in.Reason))
	if err != nil {
		return view.Hold{}, err
	}
	v := view.HoldOf(&h, c.now)
	v.Notes = c.notesOn(d)
	return v, nil
}

// notesOn says so where no node names a domain: it may be for nodes to come, and
// it may be a slip of the pen.
func (c *call) notesOn(d inventory.Domain) []string {
	if fleet := c.api.look().Fleet; fleet != nil && slices.ContainsFunc(fleet.Nodes(), d.Holds) {
		return nil
	}
	return []string{fmt.Sprintf("No node says that it stands in %s; GET %s/facility lists the places.", clip(d.String()), Base)}
}

func (a *API) releaseHold(c *call) (view.Released, error) {
	d, err := inventory.ParseDomain(c.param("domain"))
	if err != nil {
		return view.Released{}, err
	}
	err = a.cfg.Nodes.ReleaseHold(c.r.Context(), d, c.now, c.author(""))
	if errors.Is(err, inventory.ErrNoHold) {
		return view.Released{}, notHeld(d)
	}
	return view.Released{Released: d.String()}, err
}

func notHeld(d inventory.Domain) error {
	return missing("%s %q is not held; GET %s/facility, or ctl holds list, lists what is", d.Level, clip(d.Name), Base)
}

func (a *API) planHold(c *call) (view.HoldPlan, error) {
	h := inventory.Hold{}
	var err error
	if h.Domain, err = inventory.ParseDomain(c.r.URL.Query().Get("domain")); err != nil {
		return view.HoldPlan{}, err
	}
	if h.From, err = c.moment("from"); err != nil {
		return view.HoldPlan{}, err
	}
	if h.Until, err = c.moment("until"); err != nil {
		return view.HoldPlan{}, err
	}
	if err := h.Check(c.now); err != nil {
		return view.HoldPlan{}, err
	}
	v := view.HoldPlanOf(a.cfg.Cluster.PlanHold(h))
	v.Notes = c.notesOn(h.Domain)
	if len(v.Models) > 0 {
		v.Notes = append(v.Notes, view.HoldPlanNote)
	}
	return v, nil
}

// moment is a time of the query; zero when it is left out.
func (c *call) moment(name string) (time.Time, error) {
	s := c.r.URL.Query().Get(name)
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, invalid("%s must be a time such as 2026-01-31T12:00:00Z, not %q", name, clip(s))
	}
	return t, nil
}

func (a *API) releaseBrake(c *call) (view.BrakeReleased, error) {
	if err := a.record(c, "brake", nil); err != nil {
		return view.BrakeReleased{}, err
	}
	wasSet, err := a.cfg.Operator.ReleaseBrake(c.r.Context())
	return view.BrakeReleased{Released: wasSet}, err
}

func (a *API) labelNode(c *call, in view.LabelsRequest) (view.Node, error) {
	if len(in.Labels) == 0 {
		return view.Node{}, invalid("the label request changes nothing; send labels with a text, or null to remove one")
	}
	n, err := a.cfg.Nodes.SetLabels(c.r.Context(), inventory.NodeID(c.param("id")), in.Labels, c.author(""))
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return view.Node{}, noNode(c.param("id"))
	case err != nil:
		return view.Node{}, err
	}
	return view.NodeOf(view.World{View: &reconciler.View{}, Now: c.now, Stored: a.cfg.Store != nil}, n), nil
}
