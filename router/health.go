package router

import (
	"sync"
	"time"

	"llmgw.io/llmgw/router/outlier"
	"llmgw.io/llmgw/storage"
)

// health is what is seen of the trouble of one model's replicas. Every request
// takes its lock for a moment, twice.
type health struct {
	mu    sync.Mutex
	group *outlier.Group
	rules outlier.Rules
}

func (h *health) began(id string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of(now).Began(id, now)
}

func (h *health) ended(id string, end outlier.End, now time.Time) []outlier.News {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of(now).Ended(id, end, now)
}

// standings are those of the replicas in order; heard tells when each gave
// something last.
func (h *health) standings(into []outlier.Standing, ids []string, heard []time.Time, now time.Time) []outlier.Standing {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.of(now)
	for i, id := range ids {
		if !heard[i].IsZero() {
			g.Heard(id, heard[i])
		}
	}
	return g.Standings(into, ids, now)
}

func (h *health) keep(there map[string]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.group != nil {
		h.group.Keep(func(id string) bool { return there[id] })
	}
}

// of makes the group when it is first asked for. The lock is held.
func (h *health) of(now time.Time) *outlier.Group {
	if h.group == nil {
		h.group = outlier.New(h.rules, now)
	}
	return h.group
}

// seen is what a choice needs to know of trouble, in the order of the choices.
type seen struct {
	ids       []string
	heard     []time.Time
	standings []outlier.Standing
}

func (s *seen) reset() { s.ids, s.heard, s.standings = s.ids[:0], s.heard[:0], s.standings[:0] }

func (s *seen) add(id string, heard time.Time) {
	s.ids, s.heard = append(s.ids, id), append(s.heard, heard)
}

// judge makes the last choice of those in trouble, and leaves out those that
// have said for how long they take nothing.
func (x *exchange) judge(d *demand, now time.Time) {
	x.seen.standings = d.health.standings(x.seen.standings, x.seen.ids, x.seen.heard, now)
	x.full = time.Time{}
	n := 0
	for i, s := range x.seen.standings {
		if !s.Full.IsZero() {
			if x.full.IsZero() || s.Full.Before(x.full) {
				x.full = s.Full
			}
			continue
		}
		x.choices[n], x.places[n] = x.choices[i], x.places[i]
		x.choices[n].LastResort = x.choices[n].LastResort || s.Last
		x.choices[n].Share = s.Share
		n++
	}
	x.choices, x.places = x.choices[:n], x.places[:n]
	if n > 0 {
		x.full = time.Time{}
	}
}

// heardAt is when a replica gave content last; zero when it never did.
func (r *Router) heardAt(p *replica) time.Time {
	n := p.heard.Load()
	if n == 0 {
		return time.Time{}
	}
	return r.since.Add(time.Duration(n))
}

// heard notes that a replica gave content.
func (t *try) heard(now time.Time) {
	t.p.heard.Store(max(1, int64(now.Sub(t.x.r.since))))
	if t.first.IsZero() {
		t.first = now
		t.x.firstToken(now)
	}
}

// over judges the replica by how the attempt ended.
func (t *try) over(d *demand, f *failure) {
	now := time.Now()
	end := outlier.End{}
	usual := t.x.over(f == nil)
	switch {
	case f == nil:
		if !t.first.IsZero() {
			end.FirstToken = usual // as measured, a replica would be slow for being sent what is long, or queueing
		}
	case f.outcome == storage.OutcomeCancelled:
		end.Cancelled = true
	default:
		end.Failed, end.Unreachable, end.Full = f.blames(), f.unreachable, f.full
	}
	for _, n := range d.health.ended(t.b.ID, end, now) {
		t.x.r.seen.putOut(t.g.model())
		t.x.r.log.Warn("a replica is asked last for a while", "why", n.Why, "model", string(t.g.model()), "replica", n.ID)
	}
}
