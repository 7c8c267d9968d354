package dryrun

import (
	"cmp"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

// Report is what a change would do, beside what would happen without it. All lists
// are ordered by replica, or by model and node where there is none yet.
type Report struct {
	Placed    []Placed
	Moved     []Moved
	Preempted []Preempted
	Lost      []Lost
	// Unplaceable are the models that would be short of more than without it.
	Unplaceable []Unplaceable
	// Outdated is empty when the change makes none so.
	Outdated []Outdated
	// Unsettled says that it had not come to rest within the bounds.
	Unsettled bool
	// Brake is set where lost replicas would not be replaced for now.
	Brake reconciler.Brake
}

// Placed is a replica that would be there beside those that are.
type Placed struct {
	Model   catalog.Name
	Profile string
	Nodes   []inventory.NodeID // by rank
}

// Moved is a replica in whose place another one would stand.
type Moved struct {
	Replica reconciler.ReplicaID
	From    []inventory.NodeID
	To      Placed
}

// Preempted is a replica that would give way to a model of a higher class.
type Preempted struct {
	Replica reconciler.ReplicaID
	Model   catalog.Name
	From    []inventory.NodeID
	By      catalog.Name
	// To is where another one of the model would stand instead. Without nodes:
	// nowhere.
	To Placed
}

// Lost is a replica that would be gone without another in its place.
type Lost struct {
	Replica reconciler.ReplicaID
	Model   catalog.Name
	Nodes   []inventory.NodeID
	Why     string
}

// Outdated is a replica that would run on as its model was defined before: only an
// order replaces it.
type Outdated struct {
	Replica reconciler.ReplicaID
	Model   catalog.Name
}

// Unplaceable is a model that would lack replicas.
type Unplaceable struct {
	Model catalog.Name
	Short int
	// Trace is the last attempt.
	Trace placement.Trace
}

// Plan says what a change would do to the cluster as it is seen. First everything
// that is under way is played out, so that only what the change does is told; what
// people do meanwhile, and windows of schedules that open and close, are not
// looked at. Errors are those of the change. The view stays as it is.
func Plan(r reconciler.Reconciler, v *reconciler.View, c Change) (Report, error) {
	before := Play(r, beginning(v), v.Memory)
	w, err := c.apply(before.World, v.Fleet.Holds())
	if err != nil {
		return Report{}, err
	}
	w.Catalog = unscheduled(w.Catalog, v)
	after := Play(r, w, before.Memory)
	out := Report{Unsettled: !before.Settled || !after.Settled, Brake: after.Last.Brake}
	out.compare(before, after)
	out.short(before, after)
	if c.Model != nil {
		out.outdated(v, before, after, c.Model.Name)
	}
	return out, nil
}

// beginning is the world of a view. Nothing grows idle in it, and what is asked
// for now is asked for on.
func beginning(v *reconciler.View) reconciler.World {
	w := reconciler.World{Now: v.At, Catalog: unscheduled(v.Catalog, v), Fleet: v.Fleet, Replicas: v.Replicas}
	w.Traffic.Models = map[catalog.Name]reconciler.ModelTraffic{}
	for name, h := range v.Health {
		if h.Why == reconciler.WhyDemand && h.Desired > 0 {
			w.Traffic.Models[name] = reconciler.ModelTraffic{Waiting: 1}
		}
	}
	return w
}

// unscheduled is a catalog in which the windows that are open now stay so.
func unscheduled(x *catalog.Index, v *reconciler.View) *catalog.Index {
	entries := slices.Clone(x.Entries())
	changed := false
	for i := range entries {
		m := &entries[i].Model
		if m.Scaling == nil || len(m.Scaling.Schedule) == 0 {
			continue
		}
		s := *m.Scaling
		s.Min, s.Schedule = max(s.Min, reconciler.Scheduled(s.Schedule, v.At)), nil
		m.Scaling, changed = &s, true
	}
	if !changed {
		return x
	}
	return catalog.NewIndex(x.Version(), entries)
}

// compare tells what became of every replica.
func (out *Report) compare(before, after *Course) {
	gone, fresh := before.running(), after.running()
	for id := range gone {
		if fresh[id] != nil {
			delete(gone, id)
			delete(fresh, id)
		}
	}
	instead := pair(gone, fresh)
	for _, id := range sorted(gone) {
		r := gone[id]
		var to Placed
		if p := instead[id]; p != nil {
			to = placed(p)
		}
		by, preempted := after.Preempted[id]
		switch {
		case preempted:
			out.Preempted = append(out.Preempted, Preempted{Replica: id, Model: r.Model, From: nodes(r), By: by, To: to})
		case len(to.Nodes) > 0:
			out.Moved = append(out.Moved, Moved{Replica: id, From: nodes(r), To: to})
		default:
			out.Lost = append(out.Lost, Lost{Replica: id, Model: r.Model, Nodes: nodes(r), Why: cmp.Or(after.Why[id], "its node is lost and nothing takes over")})
		}
	}
	for _, id := range sorted(fresh) {
		out.Placed = append(out.Placed, placed(fresh[id]))
	}
}

// pair finds who stands in whose place: of a model's new ones each in turn. Those
// leave fresh.
func pair(gone, fresh map[reconciler.ReplicaID]*reconciler.Replica) map[reconciler.ReplicaID]*reconciler.Replica {
	out := map[reconciler.ReplicaID]*reconciler.Replica{}
	left := sorted(fresh)
	for _, old := range sorted(gone) {
		i := slices.IndexFunc(left, func(id reconciler.ReplicaID) bool { return fresh[id].Model == gone[old].Model })
		if i < 0 {
			continue
		}
		out[old] = fresh[left[i]]
		delete(fresh, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return out
}

// short tells which models lack more than without the change.
func (out *Report) short(before, after *Course) {
	for i := range after.World.Catalog.Entries() {
		name := after.World.Catalog.Entries()[i].Model.Name
		lacks := lacking(after, name)
		if lacks <= max(0, lacking(before, name)) {
			continue
		}
		out.Unplaceable = append(out.Unplaceable, Unplaceable{Model: name, Short: lacks, Trace: after.Traces[name]})
	}
}

// outdated tells which replicas that are there would run on as the model was
// defined before, where the change makes one so.
func (out *Report) outdated(v *reconciler.View, before, after *Course, name catalog.Name) {
	running, made := after.running(), false
	for i := range v.Replicas {
		r := running[v.Replicas[i].ID]
		if r == nil || r.Model != name || !reconciler.Outdated(after.World.Catalog, r) {
			continue
		}
		out.Outdated = append(out.Outdated, Outdated{Replica: r.ID, Model: name})
		made = made || !reconciler.Outdated(before.World.Catalog, r)
	}
	if !made {
		out.Outdated = nil
	}
}

func lacking(c *Course, name catalog.Name) int {
	h := c.Last.Health[name]
	have := 0
	for i := range c.World.Replicas {
		if r := &c.World.Replicas[i]; r.Model == name && c.runs(r) {
			have++
		}
	}
	return h.Desired - have
}

// runs reports whether a replica is wanted, and on nodes that are there.
func (c *Course) runs(r *reconciler.Replica) bool {
	return r.Phase == reconciler.Run && reconciler.StateOf(r, c.World.Fleet) != reconciler.StateLost
}

func (c *Course) running() map[reconciler.ReplicaID]*reconciler.Replica {
	out := map[reconciler.ReplicaID]*reconciler.Replica{}
	for i := range c.World.Replicas {
		if r := &c.World.Replicas[i]; c.runs(r) {
			out[r.ID] = r
		}
	}
	return out
}

// sorted are the keys, in the order in which replicas were made.
func sorted(of map[reconciler.ReplicaID]*reconciler.Replica) []reconciler.ReplicaID {
	out := make([]reconciler.ReplicaID, 0, len(of))
	for id := range of {
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b reconciler.ReplicaID) int {
		return cmp.Or(cmp.Compare(of[a].Model, of[b].Model), of[a].CreatedAt.Compare(of[b].CreatedAt), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return out
}

func placed(r *reconciler.Replica) Placed {
	return Placed{Model: r.Model, Profile: r.Profile.Name, Nodes: nodes(r)}
}

func nodes(r *reconciler.Replica) []inventory.NodeID {
	out := make([]inventory.NodeID, len(r.Shards))
	for i := range r.Shards {
		out[i] = r.Shards[i].Spot.Node
	}
	return out
}
