package outlier

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Group is the replicas of one model, as far as their trouble goes. Make one
// with New.
type Group struct {
	rules    Rules
	replicas map[string]*replica
	began    time.Time // of the group: who was there from the start is not new
	judged   time.Time // when latencies were compared
}

// replica is what is remembered of one.
type replica struct {
	since    time.Time // when it came or came back
	failures int       // in a row
	cool     time.Time // it failed a moment ago; last choice until then
	ejected  time.Time // it is out until then; zero: it never was
	times    int       // ejections in a row
	full     time.Time // it said that it takes nothing until then
	inFlight int
	heard    time.Time // when it last gave anything, or began to have something to do
	samples  ring
}

// New makes a group of no replicas at a time. Replicas that come within the slow
// start after it are not new: all are at the start of a router.
func New(rules Rules, now time.Time) *Group {
	return &Group{rules: rules.withDefaults(), replicas: map[string]*replica{}, began: now, judged: now}
}

// get finds a replica, or begins to remember one.
func (g *Group) get(id string, now time.Time) *replica {
	r := g.replicas[id]
	if r == nil {
		r = &replica{since: now}
		if now.Sub(g.began) < g.rules.SlowStart {
			r.since = time.Time{}
		}
		g.replicas[id] = r
	}
	return r
}

// Keep forgets every replica of which known answers false and which has nothing
// in flight.
func (g *Group) Keep(known func(id string) bool) {
	for id, r := range g.replicas {
		if r.inFlight == 0 && !known(id) {
			delete(g.replicas, id)
		}
	}
}

// Began notes that an attempt is on its way to a replica.
func (g *Group) Began(id string, now time.Time) {
	r := g.get(id, now)
	if r.inFlight++; r.inFlight == 1 {
		r.heard = now
	}
}

// Heard notes when a replica gave something, unless it gave more since. Of one
// that nothing is remembered of it says nothing.
func (g *Group) Heard(id string, at time.Time) {
	if r := g.replicas[id]; r != nil && at.After(r.heard) {
		r.heard = at
	}
}

// End is how an attempt ended.
type End struct {
	// Failed: the replica is at fault. Unreachable: it could not even be asked.
	Failed, Unreachable bool
	// Cancelled: it ended before anybody could tell.
	Cancelled bool
	// FirstToken is the time to the first content, of a prompt that is the same for
	// all: whoever tells takes out what a queue and the prompt's length make of it.
	// Zero: none came, or nobody can tell.
	FirstToken time.Duration
	// Full is for how long the replica wants to be asked nothing. Zero: it did
	// not say.
	Full time.Duration
}

// News is a replica that was put out just now.
type News struct {
	ID string
	// Why is a sentence's end: "failed 5 times in a row".
	Why string
}

// Ended notes how an attempt ended that Began told of. It answers what was put
// out for that, or for what was seen of the others meanwhile; nil: nothing.
func (g *Group) Ended(id string, end End, now time.Time) []News {
	r := g.get(id, now)
	r.inFlight = max(0, r.inFlight-1)
	if end.Full > 0 {
		r.full = now.Add(end.Full)
	}
	switch {
	case end.Failed || end.Unreachable:
		r.failures++
		r.cool = now.Add(g.rules.Cool)
		if why := g.failing(r, end, now); why != "" {
			g.eject(r, now)
			return []News{{ID: id, Why: why}}
		}
	case end.Full == 0 && !end.Cancelled:
		r.failures, r.cool, r.heard = 0, time.Time{}, now
		if end.FirstToken > 0 {
			r.samples.add(end.FirstToken, now)
		}
	}
	return g.compare(now)
}

// failing says why a replica that failed just now is to be put out.
func (g *Group) failing(r *replica, end End, now time.Time) string {
	switch {
	case r.out(now):
		return ""
	case r.failures >= g.rules.Failures:
		return fmt.Sprintf("failed %d times in a row", r.failures)
	case end.Unreachable:
		return "cannot be reached"
	}
	return ""
}

// eject puts a replica out. One that was well for as long as the longest
// ejection lasts begins anew.
func (g *Group) eject(r *replica, now time.Time) {
	if now.Sub(r.ejected) > g.rules.MostEjection {
		r.times = 0
	}
	r.times++
	r.ejected = now.Add(min(time.Duration(r.times)*g.rules.Ejection, g.rules.MostEjection))
	r.since = r.ejected
	r.failures = 0
	r.samples.clear()
}

func (r *replica) out(now time.Time) bool { return now.Before(r.ejected) }

// compare puts out the replica whose latency is furthest beyond its peers'. It
// looks once a second at most, and takes one at a time: without it, the others
// may look another way.
func (g *Group) compare(now time.Time) []News {
	if now.Sub(g.judged) < time.Second {
		return nil
	}
	g.judged = now
	var all []latency
	for id, r := range g.replicas {
		if r.out(now) {
			continue
		}
		if d, ok := r.samples.p95(now.Add(-g.rules.Window), g.rules.Samples); ok {
			all = append(all, latency{id, d})
		}
	}
	if len(all) < 2 {
		return nil
	}
	slices.SortFunc(all, func(a, b latency) int { return cmp.Or(cmp.Compare(a.p95, b.p95), cmp.Compare(b.id, a.id)) })
	worst := all[len(all)-1]
	usual := all[(len(all)-2)/2].p95 // the median of the others
	if float64(worst.p95) < g.rules.Ratio*float64(usual) || worst.p95-usual < g.rules.Slower {
		return nil
	}
	g.eject(g.replicas[worst.id], now)
	return []News{{ID: worst.id, Why: fmt.Sprintf("gives its first token after %s, its peers after %s",
		worst.p95.Round(time.Millisecond), usual.Round(time.Millisecond))}}
}

// latency is the 95th percentile of a replica's first tokens.
type latency struct {
	id  string
	p95 time.Duration
}

// Standing is how a replica is to be treated now.
type Standing struct {
	// Last: it is asked when no other can be.
	Last bool
	// Why says in a few words why it is last. Empty: it is not.
	Why string
	// Share is how much of a full share it should be given, above 0 up to 1.
	Share float64
	// Full is until when it takes nothing, by its own word. Zero: it takes more.
	Full time.Time
}

// Standings are how replicas are to be treated now, in the order of the ids. At
// most half of them are out by judgement, those with the longest way back; what
// is hung or cools down for a moment, or said itself that it is full, comes
// beside that. The result is appended to into.
func (g *Group) Standings(into []Standing, ids []string, now time.Time) []Standing {
	from := len(into)
	var out []int
	for i, id := range ids {
		r := g.replicas[id]
		s := Standing{Share: 1}
		if r != nil {
			s = g.standing(r, now)
			if r.out(now) {
				out = append(out, i)
			}
		}
		into = append(into, s)
	}
	g.admit(into[from:], ids, out)
	return into
}

func (g *Group) standing(r *replica, now time.Time) Standing {
	s := Standing{Share: g.share(r, now)}
	switch {
	case now.Before(r.full):
		s.Last, s.Why, s.Full = true, "is full", r.full
	case r.out(now):
		s.Last, s.Why = true, "is put out"
	case now.Before(r.cool):
		s.Last, s.Why = true, "failed a moment ago"
	case r.inFlight > 0 && now.Sub(r.heard) >= g.rules.Silent:
		s.Last, s.Why = true, "has requests and gives nothing"
	}
	return s
}

// admit lets replicas in again where more than half are out.
func (g *Group) admit(list []Standing, ids []string, out []int) {
	most := len(ids) / 2
	if len(out) <= most {
		return
	}
	slices.SortFunc(out, func(a, b int) int {
		return cmp.Or(g.replicas[ids[a]].ejected.Compare(g.replicas[ids[b]].ejected), cmp.Compare(ids[a], ids[b]))
	})
	for _, i := range out[:len(out)-most] {
		if list[i].Full.IsZero() {
			list[i] = Standing{Share: 1}
		}
	}
}

// leastShare is what a replica that has just come is given.
const leastShare = 0.1

// share grows evenly while a replica is new.
func (g *Group) share(r *replica, now time.Time) float64 {
	there := now.Sub(r.since)
	if r.since.IsZero() || there >= g.rules.SlowStart {
		return 1
	}
	return max(leastShare, float64(there)/float64(g.rules.SlowStart))
}
