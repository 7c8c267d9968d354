package placement

import (
	"math/rand/v2"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// Choose finds room for one replica, or says why there is none. The model's
// profiles are tried in order, and the first that fits anywhere is used. rng
// breaks ties between equal scores when it is given; nil breaks them by id.
func (p Placer) Choose(world *inventory.Snapshot, req Request, rng *rand.Rand) (Decision, Trace) {
	trace := Trace{Version: world.Version()}
	for _, profile := range req.profiles() {
		q := newQuery(p, world, req, profile)
		best, t := q.look(world.Nodes(), rng)
		trace.Profiles = append(trace.Profiles, t)
		if best != nil {
			return Decision{Placed: true, Candidate: Candidate{Profile: profile.Name, Spots: []Spot{q.spot(best)}}}, trace
		}
	}
	return Decision{}, trace
}

// look asks every node and returns the best, or nil when none will do.
func (q *query) look(nodes []*inventory.Node, rng *rand.Rand) (*inventory.Node, ProfileTrace) {
	t := ProfileTrace{Profile: q.profile.Name, Looked: len(nodes), Counts: map[Reason]int{}}
	var top ranking
	for _, n := range nodes {
		if r := q.refuse(n); r.reason != "" {
			t.reject(q, n, r)
			continue
		}
		top.add(n, q.score(n), rng)
	}
	if top.passed == 0 {
		return nil, t
	}
	t.Chosen = 1
	if top.passed > 1 {
		t.Counts[Outscored] = top.passed - 1
	}
	best := top.ordered()
	for _, n := range best {
		t.Best = append(t.Best, q.explain(n))
	}
	return best[0], t
}

// ranking keeps the best few of the nodes that passed.
type ranking struct {
	passed int
	best   []ranked // best first, ties in the order of the nodes
	winner *inventory.Node
	tied   int
}

type ranked struct {
	node  *inventory.Node
	total float64
}

func (r *ranking) add(n *inventory.Node, total float64, rng *rand.Rand) {
	r.passed++
	switch {
	case len(r.best) == 0 || total > r.best[0].total:
		r.winner, r.tied = n, 1
	case total == r.best[0].total:
		// Each of k equals stays with a chance of 1 in k.
		if r.tied++; rng != nil && rng.IntN(r.tied) == 0 {
			r.winner = n
		}
	}
	at := len(r.best)
	for at > 0 && total > r.best[at-1].total {
		at--
	}
	if at == MaxBest {
		return
	}
	if len(r.best) == MaxBest {
		r.best = r.best[:MaxBest-1]
	}
	r.best = slices.Insert(r.best, at, ranked{n, total})
}

// ordered lists the best nodes, the winner first.
func (r *ranking) ordered() []*inventory.Node {
	out := []*inventory.Node{r.winner}
	for _, x := range r.best {
		if x.node != r.winner && len(out) < MaxBest {
			out = append(out, x.node)
		}
	}
	return out
}
