package adminapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement/reconciler"
)

func (a *API) listReplicas(c *call) ([]view.Replica, error) {
	w := c.world()
	name := catalog.Name(c.r.URL.Query().Get("model"))
	if _, ok := w.View.Catalog.Get(name); name != "" && !ok && len(w.View.Of(name)) == 0 {
		return nil, noModel(name)
	}
	return page(c, view.ReplicasOf(w, name), func(r view.Replica) string { return r.ID })
}

func (a *API) restart(c *call, in view.RestartRequest) (view.RestartResult, error) {
	ids, err := selected(a.look(), in)
	if err != nil {
		return view.RestartResult{}, err
	}
	mode := reconciler.Replace
	switch {
	case in.InPlace && in.Rollout:
		return view.RestartResult{}, refuse(http.StatusBadRequest, codeInvalid, "the restart request says both in_place and rollout: a rollout finds out itself what has to be in place")
	case in.Borrow && !in.Rollout:
		return view.RestartResult{}, refuse(http.StatusBadRequest, codeInvalid, "the restart request says borrow without rollout: only a rollout borrows room from lower classes; add rollout, or leave borrow out")
	case in.InPlace:
		mode = reconciler.InPlace
	case in.Borrow:
		mode = reconciler.RolloutBorrow
	case in.Rollout:
		mode = reconciler.Rollout
	}
	out := view.RestartResult{Queued: make([]string, len(ids))}
	for i, id := range ids {
		out.Queued[i] = string(id)
	}
	object := "replicas"
	if len(ids) == 1 {
		object = "replica:" + out.Queued[0]
	}
	asked := struct {
		Queued  []string `json:"queued"`
		InPlace bool     `json:"in_place"`
		Rollout bool     `json:"rollout,omitempty"`
		Borrow  bool     `json:"borrow,omitempty"`
	}{out.Queued, in.InPlace, in.Rollout, in.Borrow}
	if err := a.record(c, object, asked); err != nil {
		return view.RestartResult{}, err
	}
	if err := a.cfg.Operator.Restart(c.r.Context(), ids, mode); err != nil {
		return view.RestartResult{}, err
	}
	return out, nil
}

// selected lists what a restart is about, each replica once, in order of id.
// Models and all select ready ones; an id selects any.
func selected(v *reconciler.View, in view.RestartRequest) ([]reconciler.ReplicaID, error) {
	var ids []reconciler.ReplicaID
	var unknown []string
	for _, id := range in.Replicas {
		if !slices.ContainsFunc(v.Replicas, func(r reconciler.Replica) bool { return string(r.ID) == id }) {
			unknown = append(unknown, fmt.Sprintf("replica %q", clip(id)))
		}
		ids = append(ids, reconciler.ReplicaID(id))
	}
	for _, name := range in.Models {
		if _, ok := v.Catalog.Get(catalog.Name(name)); !ok {
			unknown = append(unknown, fmt.Sprintf("model %q", clip(name)))
		}
	}
	if len(unknown) > 0 {
		return nil, missing("nothing is restarted: there is no %s", strings.Join(unknown, ", no "))
	}
	for i := range v.Replicas {
		r := &v.Replicas[i]
		if (in.All || slices.Contains(in.Models, string(r.Model))) && reconciler.StateOf(r, v.Fleet) == reconciler.StateReady {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil, refuse(http.StatusBadRequest, codeInvalid, "the restart request selects no replica: name replicas, models that have ready ones, or all")
	}
	if in.Rollout {
		ids = slices.DeleteFunc(ids, func(id reconciler.ReplicaID) bool { return !outdated(v, id) })
		if len(ids) == 0 {
			return nil, refuse(http.StatusBadRequest, codeInvalid, "nothing is rolled out: every replica that is named runs what its definition says")
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func outdated(v *reconciler.View, id reconciler.ReplicaID) bool {
	i := slices.IndexFunc(v.Replicas, func(r reconciler.Replica) bool { return r.ID == id })
	return i >= 0 && reconciler.Outdated(v.Catalog, &v.Replicas[i])
}

// record writes an act that changes no row of its own to the audit log, before
// it is done: what is not in the log must not happen.
func (a *API) record(c *call, object string, asked any) error {
	if a.cfg.Audit == nil {
		return nil
	}
	after := ""
	if asked != nil {
		b, err := json.Marshal(asked)
		if err != nil {
			return fmt.Errorf("encode an order for the audit log: %w", err)
		}
		after = string(b)
	}
	if err := a.cfg.Audit.RecordAudit(c.r.Context(), c.author(""), object, "", after); err != nil {
		return fmt.Errorf("record %s: %w", c.route.name, err)
	}
	return nil
}
