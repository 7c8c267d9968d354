package view

import (
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/facility"
	"llmgw.io/llmgw/placement/reconciler"
)

// FacilityReport is the building as the nodes' labels say it is.
type FacilityReport struct {
	Domains  []FacilityDomain `json:"domains" doc:"the widest level first, then by name"`
	AtRisk   []AtRisk         `json:"at_risk" doc:"models whose ready replicas all need one domain, where there is another of its level"`
	Problems []string         `json:"problems" doc:"labels that contradict each other, as sentences"`
}

// FacilityDomain is one place with what stands in it.
type FacilityDomain struct {
	Domain   string   `json:"domain" doc:"level:name, such as rack:r12-07"`
	Parent   string   `json:"parent,omitempty" doc:"the next wider domain; absent: its nodes name none"`
	Nodes    int      `json:"nodes"`
	GPUs     int      `json:"gpus"`
	Free     int      `json:"free" doc:"devices that are neither unhealthy nor in use"`
	Replicas int      `json:"replicas" doc:"replicas with a shard there; while it is carried out, those that are still to go"`
	PowerW   *float64 `json:"power_w,omitempty" doc:"what sensors measure there; absent: none says"`
	Hold     *Hold    `json:"hold,omitempty" doc:"the hold of this very domain"`
}

// AtRisk is a model that one domain would take away.
type AtRisk struct {
	Model  string `json:"model"`
	Domain string `json:"domain" doc:"the narrowest that all its ready replicas need"`
	Ready  int    `json:"ready"`
}

// Hold keeps new replicas away from a domain.
type Hold struct {
	Domain string    `json:"domain"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by"`
	Since  time.Time `json:"since"`
	From   time.Time `json:"from,omitzero" doc:"when planned work begins, and what stands there is carried out; absent: only what is new is kept away"`
	Until  time.Time `json:"until,omitzero" doc:"when it ends by itself; absent: when it is released"`
	State  string    `json:"state" doc:"planned, in_force or ended; one that has ended is swept within a minute"`
	Notes  []string  `json:"notes,omitempty" doc:"what else to know"`
}

// HoldRequest asks for a hold, in place of the one the domain has.
type HoldRequest struct {
	Domain string    `json:"domain" doc:"level:name, with a level of site, room, row, rack, pdu or node"`
	Reason string    `json:"reason,omitempty"`
	From   time.Time `json:"from,omitzero" doc:"carries out what stands there from then on; absent: only keeps away what is new, at once"`
	Until  time.Time `json:"until,omitzero"`
}

// Released says which hold was released.
type Released struct {
	Released string `json:"released"`
}

// BrakeReleased says whether there was a brake to release.
type BrakeReleased struct {
	Released bool `json:"released"`
}

// HoldOf builds a hold.
func HoldOf(h *inventory.Hold, now time.Time) Hold {
	v := Hold{Domain: h.Domain.String(), Reason: h.Reason, By: h.By, Since: h.Since.UTC(), From: h.From.UTC(), Until: h.Until.UTC(), State: "planned"}
	switch {
	case h.Ended(now):
		v.State = "ended"
	case h.InForce(now):
		v.State = "in_force"
	}
	return v
}

// FacilityOf builds the report on the building.
func FacilityOf(w World) FacilityReport {
	var holds []inventory.Hold
	if w.View.Fleet != nil {
		holds = w.View.Fleet.Holds()
	}
	r := facility.Analyze(w.nodes(), standing(w), holds)
	v := FacilityReport{Domains: []FacilityDomain{}, AtRisk: []AtRisk{}, Problems: listed(r.Problems)}
	for i := range r.Places {
		v.Domains = append(v.Domains, domainOf(&r.Places[i], w.Now))
	}
	for _, x := range r.AtRisk {
		v.AtRisk = append(v.AtRisk, AtRisk{Model: x.Model, Domain: x.Domain.String(), Ready: x.Ready})
	}
	return v
}

func domainOf(p *facility.Place, now time.Time) FacilityDomain {
	v := FacilityDomain{Domain: p.Domain.String(), Nodes: p.Nodes, GPUs: p.GPUs, Free: p.Free, Replicas: p.Replicas}
	if p.Parent.Name != "" {
		v.Parent = p.Parent.String()
	}
	if p.PowerW != nil {
		watts := round1(*p.PowerW)
		v.PowerW = &watts
	}
	if p.Hold != nil {
		h := HoldOf(p.Hold, now)
		v.Hold = &h
	}
	return v
}

// standing are the replicas as the building sees them.
func standing(w World) []facility.Replica {
	out := make([]facility.Replica, 0, len(w.View.Replicas))
	for i := range w.View.Replicas {
		r := &w.View.Replicas[i]
		x := facility.Replica{
			ID: string(r.ID), Model: string(r.Model),
			Ready: r.Phase == reconciler.Run && reconciler.StateOf(r, w.View.Fleet) == reconciler.StateReady,
		}
		for _, s := range r.Shards {
			x.Nodes = append(x.Nodes, s.Spot.Node)
		}
		out = append(out, x)
	}
	return out
}
