package view

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement/reconciler"
)

// Headroom is how many more replicas fit now.
type Headroom struct {
	Model   string     `json:"model"`
	Current int        `json:"current" doc:"replicas that are starting or ready"`
	More    int        `json:"more"`
	Nodes   [][]string `json:"nodes,omitempty" doc:"one list per replica, in order of rank"`
	Limited bool       `json:"limited,omitempty" doc:"stopped at the limit asked for, not at the cluster's edge"`
	Blocked []string   `json:"blocked,omitempty" doc:"a line per node that takes no more"`
	// TokPerSec needs a stored measurement of the profile that would be used.
	TokPerSec    *float64 `json:"tok_per_sec,omitempty"`
	ByPreempting int      `json:"by_preempting,omitempty" doc:"how many beyond more by stopping lower classes, up to 16"`
	Preempts     []string `json:"preempts,omitempty" doc:"the models that would give way for those"`
	Fix          *Fix     `json:"fix,omitempty" doc:"the smallest change that makes room for the first that does not fit"`
	NoFix        string   `json:"no_fix,omitempty" doc:"why no small change makes room"`
}

// HeadroomOf builds the answer to a trial on a copy of the fleet.
func HeadroomOf(w World, e *catalog.Entry, h reconciler.Headroom) Headroom {
	v := Headroom{Model: string(e.Model.Name), Current: current(w, e.Model.Name), More: len(h.Spots), Limited: h.Limited}
	for _, c := range h.Spots {
		nodes := []string{}
		for _, s := range c.Spots {
			nodes = append(nodes, string(s.Node))
		}
		v.Nodes = append(v.Nodes, nodes)
	}
	if h.Limited {
		return v
	}
	v.Fix, v.NoFix = fixOf(h.Help)
	v.ByPreempting = len(h.Preempting)
	for _, p := range h.Preempting {
		for _, victim := range p.Victims {
			v.Preempts = append(v.Preempts, string(victim.Model))
		}
	}
	slices.Sort(v.Preempts)
	v.Preempts = slices.Compact(v.Preempts)
	for _, p := range h.Blocked.Profiles {
		for _, l := range p.Lines {
			v.Blocked = append(v.Blocked, fmt.Sprintf("%s: %s (%s)", l.Node, l.Text, p.Profile))
		}
		if p.Omitted > 0 {
			v.Blocked = append(v.Blocked, fmt.Sprintf("and %d more nodes (%s)", p.Omitted, p.Profile))
		}
	}
	return v
}
