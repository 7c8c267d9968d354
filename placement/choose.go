package placement

import (
	"math/rand/v2"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// Choose finds room for one replica, or says why there is none. The model's
// profiles are tried in order, and the first that fits anywhere is used. rng
// breaks ties between equal scores when it is given; nil breaks them by id.
//
// It looks at every node. An [Index] answers the same from what it remembers.
func (p Placer) Choose(world *inventory.Snapshot, req Request, rng *rand.Rand) (Decision, Trace) {
	return newLandscape(p, world.Nodes()).choose(world.Version(), req, rng)
}

func (l *landscape) choose(version uint64, req Request, rng *rand.Rand) (Decision, Trace) {
	trace := Trace{Version: version}
	profiles := req.profiles()
	if len(profiles) == 0 {
		return Decision{}, trace
	}
	stands := newStanding(l, req.Model)
	for _, profile := range profiles {
		q := newQuery(l.placer, req, profile).in(l, stands)
		spots, t := q.look(rng)
		trace.Profiles = append(trace.Profiles, t)
		if spots != nil {
			return Decision{Placed: true, Candidate: Candidate{Profile: profile.Name, Spots: spots}}, trace
		}
	}
	return Decision{}, trace
}

// look asks every host and returns the spots for all shards, or nil when there
// is no room.
func (q *query) look(rng *rand.Rand) ([]Spot, ProfileTrace) {
	hosts := len(q.land.hosts)
	t := ProfileTrace{Profile: q.profile.Name, Looked: hosts, Counts: map[Reason]int{}}
	if shards := q.profile.ShardCount(); shards > 1 {
		return q.lookForGroup(t, shards)
	}
	var top ranking
	for at := range hosts {
		q.see(at)
		if r := q.refuse(); r.reason != "" {
			t.reject(q, r)
			continue
		}
		top.add(at, q.score(), rng)
	}
	if top.passed == 0 {
		return nil, t
	}
	t.Chosen = 1
	if top.passed > 1 {
		t.Counts[Outscored] = top.passed - 1
	}
	best := top.ordered()
	for _, at := range best {
		q.see(at)
		t.Best = append(t.Best, q.explain())
	}
	q.see(best[0])
	return []Spot{q.spot()}, t
}

// ranking keeps the best few of the hosts that passed.
type ranking struct {
	passed int
	best   []ranked // best first, ties in the order of the hosts
	winner int
	tied   int
}

type ranked struct {
	at    int
	total float64
}

func (r *ranking) add(at int, total float64, rng *rand.Rand) {
	r.passed++
	switch {
	case len(r.best) == 0 || total > r.best[0].total:
		r.winner, r.tied = at, 1
	case total == r.best[0].total:
		// Each of k equals stays with a chance of 1 in k.
		if r.tied++; rng != nil && rng.IntN(r.tied) == 0 {
			r.winner = at
		}
	}
	place := len(r.best)
	for place > 0 && total > r.best[place-1].total {
		place--
	}
	if place == MaxBest {
		return
	}
	if len(r.best) == MaxBest {
		r.best = r.best[:MaxBest-1]
	}
	r.best = slices.Insert(r.best, place, ranked{at, total})
}

// ordered lists the best hosts, the winner first.
func (r *ranking) ordered() []int {
	out := []int{r.winner}
	for _, x := range r.best {
		if x.at != r.winner && len(out) < MaxBest {
			out = append(out, x.at)
		}
	}
	return out
}
