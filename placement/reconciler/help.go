package reconciler

import (
	"fmt"
	"path"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/fix"
)

// Help is what would make room for one more replica of a model.
type Help struct {
	// Fix is the smallest change that does. Without steps there is none.
	Fix fix.Fix
	// Why says why there is none. Empty: there is one, or nobody asked.
	Why string
}

// Help looks for the smallest change that makes room for one more replica of a
// model, on a copy of the fleet: see package fix. An unknown model is an error
// that matches ErrNoModel. c nil: nothing is known from before.
func (r Reconciler) Help(v *View, model catalog.Name, c *Cache) (out Help, err error) {
	entry, ok := v.Catalog.Get(model)
	if !ok {
		return Help{}, fmt.Errorf("%w: %s", ErrNoModel, model)
	}
	s := r.lookAt(v, c)
	s.ground.try(func(x *placement.Index) { out = v.help(x, s.viewed(v, &entry.Model)) })
	return out, nil
}

func (v *View) help(x *placement.Index, req placement.Request) (h Help) {
	h.Fix, h.Why, _ = fix.Find(x, fix.Question{
		Request: req, Standing: v.standing(), Unneeded: v.unneeded(),
		Holds: slices.DeleteFunc(slices.Clone(v.Fleet.Holds()), func(h inventory.Hold) bool { return !h.InForce(v.At) }),
	})
	return h
}

// standing are the replicas that people could stop: those that are wanted
// running, of models that are there.
func (v *View) standing() []placement.Occupant {
	out := make([]placement.Occupant, 0, len(v.Replicas))
	for i := range v.Replicas {
		r := &v.Replicas[i]
		entry, known := v.Catalog.Get(r.Model)
		if !known || r.Phase != Run {
			continue
		}
		seconds := v.At.Sub(r.CreatedAt).Seconds()
		if !r.ReadyAt.IsZero() {
			seconds = r.ReadyAt.Sub(r.CreatedAt).Seconds()
		}
		out = append(out, placement.Occupant{Replica: string(r.ID), Model: r.Model, Class: entry.Model.Class, Seconds: seconds})
	}
	return out
}

// unneeded tells how much of a node's disk is weights that no model and no
// replica names. Nil where a definition does not list its files, or has adapters:
// then nobody knows what it needs.
func (v *View) unneeded() func(n *inventory.Node) int64 {
	type file struct {
		name  string
		bytes int64
	}
	hashes, names := map[string]bool{}, map[file]bool{}
	need := func(files []catalog.File) {
		for _, f := range files {
			hashes[f.SHA256] = f.SHA256 != ""
			names[file{path.Base(f.Path), f.Bytes}] = true
		}
	}
	entries := v.Catalog.Entries()
	for i := range entries {
		m := &entries[i].Model
		if m.Source != "" && len(m.Files) == 0 || len(m.Adapters) > 0 {
			return nil
		}
		need(m.Files)
	}
	for i := range v.Replicas {
		need(v.Replicas[i].Files)
	}
	return func(n *inventory.Node) int64 {
		var bytes int64
		for i := range n.Facts.Weights {
			if w := &n.Facts.Weights[i]; !hashes[w.SHA256] && !names[file{path.Base(w.Path), w.Bytes}] {
				bytes += w.Bytes
			}
		}
		return bytes >> 20
	}
}
