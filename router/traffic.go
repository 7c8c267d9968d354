package router

import (
	"sync"
	"sync/atomic"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/outlier"
	"llmgw.io/llmgw/router/steer"
)

// Traffic is what requests there are, for whoever scales models.
type Traffic struct {
	// Since is when this router began to count.
	Since    time.Time
	Models   map[catalog.Name]ModelTraffic
	Replicas map[string]ReplicaTraffic
}

// ModelTraffic is the demand for one model.
type ModelTraffic struct {
	// LastAsked is when a request last asked for it.
	LastAsked time.Time
	// Waiting requests are held until a replica is ready; those in flight have one.
	Waiting, InFlight int
}

// ReplicaTraffic is what one replica is used for.
type ReplicaTraffic struct {
	InFlight int
	// LastUsed is when a request last began or ended there.
	LastUsed time.Time
	// Slowness is how many times slower than usual for its model it reads prompts,
	// as first tokens show: 1 is as usual. Zero: it was not measured over enough
	// requests of one model.
	Slowness float64
}

// demand counts the requests for one model.
type demand struct {
	lastAsked         atomic.Int64 // Unix nanoseconds
	waiting, inFlight atomic.Int64
	health            health
	steering          steering
}

// demands are those of every model that was asked for.
type demands struct {
	rules  outlier.Rules
	byName sync.Map // catalog.Name to *demand
}

func (m *demands) get(name catalog.Name) *demand {
	if d, ok := m.byName.Load(name); ok {
		return d.(*demand)
	}
	d, _ := m.byName.LoadOrStore(name, &demand{health: health{rules: m.rules}, steering: steering{model: steer.NewModel(0)}})
	return d.(*demand)
}

// Traffic returns what is counted now; its maps belong to the caller. It waits no
// longer than a choice takes.
func (r *Router) Traffic() Traffic {
	t := Traffic{Since: r.since, Models: map[catalog.Name]ModelTraffic{}, Replicas: map[string]ReplicaTraffic{}}
	r.demands.byName.Range(func(name, v any) bool {
		d := v.(*demand)
		t.Models[name.(catalog.Name)] = ModelTraffic{
			LastAsked: unixNano(d.lastAsked.Load()), Waiting: int(d.waiting.Load()), InFlight: int(d.inFlight.Load()),
		}
		return true
	})
	r.replicas.byID.Range(func(id, v any) bool {
		p := v.(*replica)
		t.Replicas[id.(string)] = ReplicaTraffic{InFlight: int(p.inFlight.Load()), LastUsed: unixNano(p.lastUsed.Load())}
		return true
	})
	r.demands.byName.Range(func(_, v any) bool {
		v.(*demand).steering.slowness(t.Replicas)
		return true
	})
	return t
}

func unixNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

// sweep forgets models and replicas that are gone and used by nobody.
func (r *Router) sweep(now time.Time) {
	r.door.sweep(now)
	index := r.cfg.Models.Index()
	idle := now.Add(-sweepAfter).UnixNano()
	there := map[string]bool{}
	for _, e := range index.Entries() {
		for _, b := range r.backends(e.Model.Name) {
			there[b.ID] = true
		}
	}
	r.replicas.byID.Range(func(id, v any) bool {
		p := v.(*replica)
		if !there[id.(string)] && p.inFlight.Load() == 0 && p.lastUsed.Load() < idle {
			r.replicas.byID.CompareAndDelete(id, v)
			r.cfg.Upstream.Forget(id.(string))
		}
		return true
	})
	r.demands.byName.Range(func(name, v any) bool {
		d := v.(*demand)
		d.health.keep(there)
		d.steering.keep(there)
		_, ok := index.Get(name.(catalog.Name))
		if !ok && d.waiting.Load() == 0 && d.inFlight.Load() == 0 && d.lastAsked.Load() < idle {
			r.demands.byName.CompareAndDelete(name, v)
		}
		return true
	})
}
