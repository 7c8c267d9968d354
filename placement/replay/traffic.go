package replay

import (
	"maps"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// traffic is what rules look at of requests.
type traffic struct {
	since    time.Time
	models   map[catalog.Name]reconciler.ModelTraffic
	replicas map[reconciler.ReplicaID]reconciler.ReplicaTraffic
	// running are shards of models that idle away whose engines answer requests.
	running map[string]inventory.NodeID
}

// trafficOf picks what rules look at: requests for models that start on demand or
// may not start, the replicas of those, replicas that leave, and all of a model of
// which this plan moves one, since the least busy goes first, or of which it noted
// how quick it is where. Everything else changes all the time and decides nothing.
func trafficOf(p *Pass) traffic {
	w := &p.World
	out := traffic{
		since: w.Traffic.Since, models: map[catalog.Name]reconciler.ModelTraffic{},
		replicas: map[reconciler.ReplicaID]reconciler.ReplicaTraffic{}, running: map[string]inventory.NodeID{},
	}
	noted := map[catalog.Name]bool{}
	for i := range p.Plan.Actions {
		noted[p.Plan.Actions[i].Replica.Model] = true
	}
	for _, models := range []map[catalog.Name]reconciler.ModelMemory{p.Memory.Models, p.After.Models} {
		for name := range models {
			if !maps.Equal(p.Memory.Models[name].Pace, p.After.Models[name].Pace) {
				noted[name] = true
			}
		}
	}
	idles := map[catalog.Name]bool{}
	for name, t := range w.Traffic.Models {
		if asks(w.Catalog, name) {
			out.models[name] = t
		}
	}
	for i := range w.Replicas {
		r := &w.Replicas[i]
		is, known := idles[r.Model]
		if !known {
			is = asks(w.Catalog, r.Model)
			idles[r.Model] = is
		}
		if t, there := w.Traffic.Replicas[r.ID]; there && (is || noted[r.Model] || r.Phase != reconciler.Run) {
			out.replicas[r.ID] = t
		}
		if is {
			out.run(w.Fleet, r)
		}
	}
	return out
}

// asks reports whether requests decide how many replicas of a model there are, or
// what people are told of it.
func asks(x *catalog.Index, name catalog.Name) bool {
	if x == nil {
		return false
	}
	e, there := x.Get(name)
	if !there {
		return false
	}
	_, most := e.Model.Bounds()
	return most == 0 || e.Model.OnDemand()
}

func (t *traffic) run(fleet *inventory.Snapshot, r *reconciler.Replica) {
	if fleet == nil {
		return
	}
	for i := range r.Shards {
		n := fleet.Node(r.Shards[i].Spot.Node)
		if n == nil {
			continue
		}
		if st, said := n.Shard(string(r.Shards[i].ID)); said && st.Use != nil && st.Use.Running > 0 {
			t.running[st.ID] = n.ID
		}
	}
}

func (t *traffic) to(is traffic) trafficForm {
	f := trafficForm{
		Models:   between(t.models, is.models, sameModelTraffic),
		Replicas: between(t.replicas, is.replicas, sameReplicaTraffic),
		Running:  between(t.running, is.running, equal),
	}
	if !t.since.Equal(is.since) {
		f.Since = &is.since
	}
	return f
}

func (f *trafficForm) onto(t traffic) traffic {
	if f.Since != nil {
		t.since = *f.Since
	}
	t.models, t.replicas, t.running = f.Models.onto(t.models), f.Replicas.onto(t.replicas), f.Running.onto(t.running)
	return t
}

func sameModelTraffic(a, b reconciler.ModelTraffic) bool {
	return a.LastAsked.Equal(b.LastAsked) && a.Waiting == b.Waiting && a.InFlight == b.InFlight
}

func sameReplicaTraffic(a, b reconciler.ReplicaTraffic) bool {
	return a.InFlight == b.InFlight && a.LastUsed.Equal(b.LastUsed) && a.Slowness == b.Slowness
}
