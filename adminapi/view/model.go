package view

import (
	"net/url"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement/reconciler"
)

// Model is a whole definition: what people send and what is in force.
type Model = catalog.Model

// ModelView is one model in a listing: what it is and how it is doing.
type ModelView struct {
	Name            string            `json:"name"`
	Canary          *catalog.Canary   `json:"canary,omitempty"`
	CanaryOf        string            `json:"canary_of,omitempty" doc:"the model this one is the candidate of"`
	Eval            *catalog.EvalGate `json:"eval,omitempty"`
	Description     string            `json:"description,omitempty"`
	Aliases         []string          `json:"aliases,omitempty"`
	Source          string            `json:"source" doc:"empty for models that others serve"`
	MinReplicas     int               `json:"min_replicas"`
	MaxReplicas     int               `json:"max_replicas"`
	ReadyReplicas   int               `json:"ready_replicas"`
	TotalReplicas   int               `json:"total_replicas"`
	DesiredReplicas int               `json:"desired_replicas"`
	Failures        int               `json:"failures,omitempty" doc:"consecutive failed starts"`
	Parked          bool              `json:"parked,omitempty" doc:"starts are no longer tried; retry it, or change the definition"`
	Reason          string            `json:"reason,omitempty" doc:"the last failure"`
	Unplaceable     bool              `json:"unplaceable,omitempty" doc:"short, and the last attempt found no node; explain-placement says why"`
	Fallbacks       []string          `json:"fallbacks,omitempty"`
	Apart           []string          `json:"apart,omitempty" doc:"models that never share a node with it, nor it with them"`
	Profiles        []string          `json:"profiles"`
	MemoryGB        int               `json:"memory_gb,omitempty" doc:"what a shard of the first profile reserves, in GiB"`
	CPUCores        int               `json:"cpu_cores,omitempty"`
	Prefetch        *Prefetch         `json:"prefetch,omitempty" doc:"how far nodes are with weights that they are to have ahead; absent: none are to"`
	Weights         *SeenWeights      `json:"weights,omitempty" doc:"what their source says; absent: nobody has looked there"`
	MeasuredGB      *float64          `json:"measured_memory_gb,omitempty" doc:"the most any replica uses now, summed over its shards"`
	Warnings        []string          `json:"warnings,omitempty"`
	Class           string            `json:"class"`
	Owner           string            `json:"owner,omitempty"`
	External        string            `json:"external,omitempty" doc:"host · their name for the model"`
	Adapters        []catalog.Adapter `json:"adapters,omitempty"`
	Preempted       int               `json:"preempted,omitempty" doc:"replicas it is short of because a higher class took them"`
	HeldFor         string            `json:"held_for,omitempty" doc:"the model that took the last one's room"`
	Origin          *Origin           `json:"origin,omitempty"`
	Update          *UpdateInfo       `json:"update,omitempty"`
	Declared        bool              `json:"declared,omitempty" doc:"from the configuration file, so read-only here"`
}

// Origin is the repository a model's weights came from.
type Origin struct {
	Repo     string `json:"repo"`
	Revision string `json:"revision"`
	Previous string `json:"previous,omitempty" doc:"the revision a rollback goes back to"`
}

// UpdateInfo says whether an origin has something newer.
type UpdateInfo struct {
	Model     string `json:"model"`
	Repo      string `json:"repo"`
	Revision  string `json:"revision"`
	Latest    string `json:"latest,omitempty"`
	CheckedAt string `json:"checked_at"`
	Error     string `json:"error,omitempty"`
}

// ModelsOf builds every model, ordered by name.
func ModelsOf(w World) []ModelView {
	candidates := candidatesOf(w.entries())
	entries := w.entries()
	out := make([]ModelView, 0, len(entries))
	for i := range entries {
		v := ModelOf(w, &entries[i])
		v.CanaryOf = string(candidates[entries[i].Model.Name])
		out = append(out, v)
	}
	return out
}

// candidatesOf maps a canary's candidate to the model it stands in for.
func candidatesOf(entries []catalog.Entry) map[catalog.Name]catalog.Name {
	out := map[catalog.Name]catalog.Name{}
	for i := range entries {
		if c := entries[i].Model.Canary; c != nil {
			out[c.Model] = entries[i].Model.Name
		}
	}
	return out
}

// ModelOf builds one model, but for CanaryOf, which only the listing knows.
func ModelOf(w World, e *catalog.Entry) ModelView {
	m := &e.Model
	h := healthOf(w, m)
	v := ModelView{
		Name: string(m.Name), Canary: m.Canary, Eval: m.Eval, Description: m.Description, Aliases: texts(m.Aliases),
		Source: m.Source, DesiredReplicas: h.Desired, ReadyReplicas: h.Ready, TotalReplicas: h.Total,
		Failures: h.Failures, Parked: h.Parked, Reason: h.Reason, Unplaceable: h.Unplaceable,
		Fallbacks: texts(m.Fallbacks), Apart: texts(m.Apart), Profiles: []string{}, Class: string(m.Class.OrDefault()), Owner: m.Owner,
		External: externalOf(m.External), Adapters: m.Adapters, Origin: originOf(m.Origin), Declared: e.Declared,
	}
	v.MinReplicas, v.MaxReplicas = boundsOf(m)
	for i := range m.Profiles {
		v.Profiles = append(v.Profiles, m.Profiles[i].Name)
	}
	if len(m.Profiles) > 0 {
		v.MemoryGB, v.CPUCores = m.Profiles[0].MemoryGB, m.Profiles[0].CPUCores
	}
	v.Preempted, v.HeldFor = h.Preempted, string(h.HeldFor)
	v.addStatics(w.staticsOf(m.Name))
	use := measure(w, m.Name)
	v.MeasuredGB = use.replicaGB()
	v.Warnings = warningsOf(m, use)
	v.addLook(w, m)
	v.Prefetch = prefetchOf(w, m)
	return v
}

// managed says whether llmgw starts replicas of the model itself.
func managed(m *catalog.Model) bool {
	return slices.ContainsFunc(m.Profiles, func(p catalog.Profile) bool { return p.Managed() })
}

// boundsOf are the least and the most replicas; of a model that others run,
// those that they were said to run.
func boundsOf(m *catalog.Model) (least, most int) {
	if managed(m) {
		return m.Bounds()
	}
	for i := range m.Profiles {
		least += len(m.Profiles[i].Endpoints)
	}
	return least, least
}

// healthOf is how a model does; one that the loop has not come round to yet
// wants what its definition says.
func healthOf(w World, m *catalog.Model) reconciler.ModelHealth {
	h, ok := w.View.Health[m.Name]
	if !ok && managed(m) {
		h.Why = reconciler.WhyMin
		h.Desired, _ = m.Bounds()
	}
	return h
}

// addStatics counts replicas that others run: they are always all wanted.
func (v *ModelView) addStatics(statics []Static) {
	for _, s := range statics {
		v.TotalReplicas++
		v.DesiredReplicas++
		if s.Ready {
			v.ReadyReplicas++
		} else if v.Reason == "" {
			v.Reason = s.Error
		}
	}
}

func externalOf(x *catalog.External) string {
	if x == nil {
		return ""
	}
	host := x.URL
	if u, err := url.Parse(x.URL); err == nil && u.Host != "" {
		host = u.Host
	}
	return host + " · " + x.Model
}

func originOf(o *catalog.Origin) *Origin {
	if o == nil {
		return nil
	}
	v := &Origin{Repo: o.Repo, Revision: o.Revision}
	if o.Previous != nil {
		v.Previous = o.Previous.Revision
	}
	return v
}

func texts[T ~string](in []T) []string {
	var out []string
	for _, s := range in {
		out = append(out, string(s))
	}
	return out
}

// DefinitionOf is the definition in force: defaults filled in, keys left out.
func DefinitionOf(e *catalog.Entry) Model { return e.Model.WithDefaults().Redacted() }
