package fleetsim

import (
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// waitLimit is how long a request waits for a replica to be ready; routerTries
// is how many replicas it is sent to before it counts as failed.
const (
	waitLimit   = 10 * time.Minute
	routerTries = 3
	// hopelessAfter is how long after the start of a control plane a model without
	// room counts as hopeless.
	hopelessAfter = 15 * time.Second
)

// router is all routers together: a directory of what is ready, which stays as it
// is while no control plane speaks, and the requests.
type router struct {
	s     *sim
	since time.Time
	// calm: nobody asks any more.
	calm bool
	// ready are the backends by model, the best last resort last.
	ready    map[catalog.Name][]backend
	hopeless map[catalog.Name]bool
	asked    map[catalog.Name]*demand
	// flights are requests by the replica that answers them, and uses when that
	// last changed.
	flights map[reconciler.ReplicaID][]*request
	uses    map[reconciler.ReplicaID]time.Time
}

type backend struct {
	replica  *reconciler.Replica
	draining bool
	silent   bool
}

type demand struct {
	last    time.Time
	waiting []*request
	flying  int
}

type request struct {
	model   catalog.Name
	replica reconciler.ReplicaID
	takes   time.Duration
	came    time.Time
	over    bool
}

func newRouter(s *sim) *router {
	return &router{
		s: s, ready: map[catalog.Name][]backend{}, hopeless: map[catalog.Name]bool{},
		asked:   map[catalog.Name]*demand{},
		flights: map[reconciler.ReplicaID][]*request{}, uses: map[reconciler.ReplicaID]time.Time{},
	}
}

// restart begins to count anew, as a control plane that starts does.
func (r *router) restart(now time.Time) { r.since = now }

// update takes a new directory.
func (r *router) update(c *control) {
	fleet := c.fleet.Snapshot()
	clear(r.ready)
	clear(r.hopeless)
	for i := range c.replicas {
		rep := &c.replicas[i]
		if rep.Phase == reconciler.Stop {
			continue
		}
		if silent, ok := answers(rep, fleet); ok {
			r.ready[rep.Model] = append(r.ready[rep.Model], backend{replica: rep, draining: rep.Phase == reconciler.Drain, silent: silent})
		}
	}
	settled := r.s.now.Sub(c.since) > hopelessAfter
	for name, h := range c.plan.Health {
		if h.Parked || h.Unplaceable && h.Total == 0 && settled {
			r.hopeless[name] = true
		}
	}
	for _, name := range sortedNames(r.asked) {
		r.retry(name, r.asked[name])
	}
}

// answers reports whether all shards of a replica said that they are ready, and
// whether the node of any is silent.
func answers(rep *reconciler.Replica, fleet *inventory.Snapshot) (silent, ok bool) {
	for _, sh := range rep.Shards {
		n := fleet.Node(sh.Spot.Node)
		if n == nil {
			return false, false
		}
		if st, known := n.Shard(string(sh.ID)); !known || st.State != inventory.ShardReady {
			return false, false
		}
		silent = silent || n.Hearing != inventory.Heard
	}
	return silent, true
}

// retry sends requests that wait once more.
func (r *router) retry(name catalog.Name, d *demand) {
	if len(d.waiting) == 0 {
		return
	}
	waiting := d.waiting
	d.waiting = nil
	for _, q := range waiting {
		if !q.over {
			r.route(q, d)
		}
	}
}

// take is a request that comes now and takes a while.
func (r *router) take(name catalog.Name, takes time.Duration) {
	if r.calm {
		return
	}
	r.s.report.Requests++
	d := r.asked[name]
	if d == nil {
		d = &demand{}
		r.asked[name] = d
	}
	d.last = r.s.now
	q := &request{model: name, takes: max(takes, time.Millisecond), came: r.s.now}
	r.route(q, d)
	if q.replica == "" && !q.over {
		r.s.wake()
		r.s.after(waitLimit, func() {
			if q.replica == "" && !q.over {
				q.over = true
				r.s.report.Unserved++
			}
		})
	}
}

// route sends a request to a replica, lets it wait, or refuses it.
func (r *router) route(q *request, d *demand) {
	for _, b := range r.pick(q.model) {
		if !r.s.serves(b.replica) {
			continue
		}
		q.replica = b.replica.ID
		d.flying++
		r.flights[q.replica] = append(r.flights[q.replica], q)
		r.uses[q.replica] = r.s.now
		r.s.report.served(r.s.now.Sub(q.came))
		r.s.after(q.takes, func() { r.end(q) })
		return
	}
	if r.hopeless[q.model] {
		q.over = true
		r.s.report.Refused++
		return
	}
	d.waiting = append(d.waiting, q)
}

// pick is the replicas to try in order: those that are silent or drain come
// last, then the fewest requests decide, then the id.
func (r *router) pick(model catalog.Name) []backend {
	list := slices.Clone(r.ready[model])
	slices.SortStableFunc(list, func(a, b backend) int {
		if x, y := a.rank(), b.rank(); x != y {
			return x - y
		}
		return len(r.flights[a.replica.ID]) - len(r.flights[b.replica.ID])
	})
	return list[:min(routerTries, len(list))]
}

func (b backend) rank() int {
	switch {
	case b.draining:
		return 2
	case b.silent:
		return 1
	}
	return 0
}

// serves reports whether the engines of a replica really answer.
func (s *sim) serves(rep *reconciler.Replica) bool {
	for _, sh := range rep.Shards {
		a := s.agents[sh.Spot.Node]
		if a == nil || !a.powered {
			return false
		}
		if e := a.engines[string(sh.ID)]; e == nil || !e.ready(s.now) {
			return false
		}
	}
	return true
}

// end is the last token of an answer.
func (r *router) end(q *request) {
	if q.over {
		return
	}
	q.over = true
	r.drop(q)
}

func (r *router) drop(q *request) {
	d := r.asked[q.model]
	d.flying--
	d.last = r.s.now
	r.uses[q.replica] = r.s.now
	list := slices.DeleteFunc(r.flights[q.replica], func(o *request) bool { return o == q })
	if len(list) == 0 {
		delete(r.flights, q.replica)
	} else {
		r.flights[q.replica] = list
	}
}

// busy reports whether a replica answers requests.
func (r *router) busy(id reconciler.ReplicaID) bool { return len(r.flights[id]) > 0 }

// lost breaks the answers whose engines of a machine are gone.
func (r *router) lost(a *agent) {
	for _, id := range sortedNames(a.shards) {
		rep := a.shards[id].order.replica
		if len(r.flights[rep.ID]) == 0 || a.engines[id] != nil {
			continue
		}
		for _, q := range slices.Clone(r.flights[rep.ID]) {
			q.over = true
			r.drop(q)
			r.s.report.Broken++
		}
	}
}

// traffic is what the control plane hears of requests.
func (r *router) traffic() reconciler.Traffic {
	t := reconciler.Traffic{
		Since: r.since, Models: make(map[catalog.Name]reconciler.ModelTraffic, len(r.asked)),
		Replicas: make(map[reconciler.ReplicaID]reconciler.ReplicaTraffic, len(r.uses)),
	}
	for name, d := range r.asked {
		waiting := 0
		for _, q := range d.waiting {
			if !q.over {
				waiting++
			}
		}
		t.Models[name] = reconciler.ModelTraffic{LastAsked: d.last, Waiting: waiting, InFlight: d.flying}
	}
	for id, at := range r.uses {
		t.Replicas[id] = reconciler.ReplicaTraffic{InFlight: len(r.flights[id]), LastUsed: at}
	}
	return t
}

// forget drops what is known of a replica that is gone.
func (r *router) forget(id reconciler.ReplicaID) {
	if !r.busy(id) {
		delete(r.uses, id)
	}
}
