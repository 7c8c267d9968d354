package placement

import (
	"maps"
	"math"
)

// Explain is Choose with everything that is to be said, as the placer's Choose
// says it: lines for nodes that were refused, and the best scores with their
// parts. The trace is the caller's own.
func (x *Index) Explain(req Request) (Decision, Trace) {
	decision, told := x.Choose(req)
	trace := Trace{Version: told.Version}
	for _, t := range told.Profiles {
		t.Counts = maps.Clone(t.Counts)
		for i := range req.Model.Profiles {
			if p := &req.Model.Profiles[i]; p.Name == t.Profile && req.wants(p) {
				x.classFor(req, p).explain(x, req, &t, decision)
				break
			}
		}
		trace.Profiles = append(trace.Profiles, t)
	}
	return decision, trace
}

// explain adds lines and scores to what was counted just now.
func (c *class) explain(x *Index, req Request, t *ProfileTrace, d Decision) {
	for id := range req.Avoid {
		if at, known := x.places[id]; known {
			c.exclude(at)
		}
	}
	q := *c.q
	q.brief, q.avoid = false, req.Avoid
	refused := t.Looked - t.Chosen - t.Counts[Outscored]
	for at := 0; at < len(c.codes) && len(t.Lines) < min(refused, MaxLines); at++ {
		if c.codes[at] != 0 {
			q.see(at)
			t.line(&q, q.refuse())
		}
	}
	if shards := q.profile.ShardCount(); t.Counts[GroupShape] > 0 {
		c.explainGroup(&q, t, shards)
	}
	t.Omitted = refused - len(t.Lines)
	switch {
	case t.Chosen > 1:
		for _, s := range d.Candidate.Spots[:min(MaxBest, t.Chosen)] {
			q.see(int(x.places[s.Node]))
			t.Best = append(t.Best, q.explain())
		}
	case t.Chosen == 1:
		c.explainBest(&q, t)
	}
	c.include()
}

// explainGroup adds lines for hosts with room for a shard where no group fits.
func (c *class) explainGroup(q *query, t *ProfileTrace, shards int) {
	most := int(c.counts[0])
	if q.bound() {
		most = 0
		for i := range c.group.domains {
			most = max(most, c.group.domains[i].room)
		}
	}
	for at := 0; at < len(c.codes) && len(t.Lines) < MaxLines; at++ {
		if c.codes[at] == 0 {
			q.see(at)
			t.line(q, q.refuseGroup(shards, most))
		}
	}
	t.inOrder()
}

// explainBest adds the best scores, best first.
func (c *class) explainBest(q *query, t *ProfileTrace) {
	var put []answer
	for len(t.Best) < MaxBest {
		at := c.best.winner()
		if at < 0 {
			break
		}
		put = append(put, answer{at: at, total: c.best.total(at)})
		c.best.put(at, math.Inf(-1))
		q.see(int(at))
		t.Best = append(t.Best, q.explain())
	}
	for _, a := range put {
		c.best.put(a.at, a.total)
	}
}
