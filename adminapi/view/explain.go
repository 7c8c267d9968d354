package view

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

// Explain says why a model stands where it does, or nowhere. No rejections
// means that the last attempt found room, or that none was made: the model is
// satisfied, or the loop has not run yet; that is the answer. Best are the
// scores that decided where it stands.
type Explain struct {
	Model      string         `json:"model"`
	Placed     bool           `json:"placed" doc:"it has a replica that is starting or ready"`
	Rejections []Rejection    `json:"rejections,omitempty"`
	Omitted    int            `json:"omitted,omitempty" doc:"further refusals that are only counted"`
	Counts     map[string]int `json:"counts,omitempty" doc:"nodes refused, by code, over all profiles"`
	LookedAt   int            `json:"looked_at,omitempty" doc:"nodes looked at, over all profiles"`
	Best       []Score        `json:"best,omitempty"`
	Fix        *Fix           `json:"fix,omitempty" doc:"the smallest change that makes room, tried on a copy"`
	NoFix      string         `json:"no_fix,omitempty" doc:"why no small change makes room"`
}

// Rejection is why one node was not used.
type Rejection struct {
	Profile string `json:"profile"`
	Pool    string `json:"pool,omitempty"`
	Node    string `json:"node,omitempty"`
	Reason  string `json:"reason"`
	Code    string `json:"code"`
	Need    string `json:"need,omitempty"`
	Have    string `json:"have,omitempty"`
	Advice  string `json:"advice,omitempty" doc:"what people can do about it"`
}

// Score is how good a node was, with its parts.
type Score struct {
	Profile string             `json:"profile"`
	Node    string             `json:"node"`
	Score   float64            `json:"score"`
	Parts   map[string]float64 `json:"parts"`
}

// ExplainOf builds the explanation of the last attempt, with what would help.
func ExplainOf(w World, e *catalog.Entry, help reconciler.Help) Explain {
	v := Explain{Model: string(e.Model.Name), Placed: current(w, e.Model.Name) > 0}
	v.Fix, v.NoFix = fixOf(help)
	trace, ok := w.View.Traces[e.Model.Name]
	if !ok {
		return v
	}
	_, placed := trace.Placed()
	v.Counts = map[string]int{}
	for _, p := range trace.Profiles {
		v.LookedAt += p.Looked
		for code, n := range p.Counts {
			v.Counts[string(code)] += n
		}
		if !placed {
			v.Omitted += p.Omitted
			v.Rejections = append(v.Rejections, rejectionsOf(&e.Model, p)...)
		}
		for _, s := range p.Best {
			v.Best = append(v.Best, Score{Profile: p.Profile, Node: string(s.Node), Score: s.Total, Parts: s.Parts})
		}
	}
	return v
}

func rejectionsOf(m *catalog.Model, p placement.ProfileTrace) []Rejection {
	var out []Rejection
	pool := ""
	if i := slices.IndexFunc(m.Profiles, func(x catalog.Profile) bool { return x.Name == p.Profile }); i >= 0 {
		pool = m.Profiles[i].Pool
	}
	for _, l := range p.Lines {
		r := Rejection{Profile: p.Profile, Pool: pool, Node: string(l.Node), Reason: l.Text, Code: string(l.Reason), Advice: l.Reason.Advice()}
		if l.Need != 0 || l.Have != 0 {
			r.Need, r.Have = amount(l.Need, l.Unit), amount(l.Have, l.Unit)
		}
		out = append(out, r)
	}
	// A profile that was tried without a single node is a refusal too.
	if p.Looked == 0 && len(p.Lines) == 0 {
		out = append(out, Rejection{Profile: p.Profile, Pool: pool, Reason: "there is no node to look at; join one first", Code: string(placement.NotReady)})
	}
	return out
}

func amount(n int64, unit string) string {
	if unit == "" {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// current counts replicas that are starting or ready, those of others too.
func current(w World, name catalog.Name) int {
	n := 0
	for _, r := range w.View.Of(name) {
		switch reconciler.StateOf(&r, w.View.Fleet) {
		case reconciler.StateStarting, reconciler.StateReady:
			n++
		}
	}
	for _, s := range w.staticsOf(name) {
		if s.Ready {
			n++
		}
	}
	return n
}
