package router

import "time"

// Candidate is a replica that may be asked, as far as choosing goes.
type Candidate struct {
	// Outstanding is the number of requests in flight there from this router.
	Outstanding int64
	// Wait is how long it takes until the replica comes to the request, and Work
	// how long its prompt then needs, less what is cached. Both are guesses.
	Wait, Work time.Duration
	// Cached is how many of the prompt's tokens it is believed to hold.
	Cached int64
	// Resident tells that the adapter asked for, or none, is the one it served
	// last: a change costs some engines what they have cached, and batching.
	Resident bool
	// LastResort is a replica that may not answer: its node is silent, or it
	// failed a moment ago. It is chosen only when all are.
	LastResort bool
	// Share is how much of a full share the replica should be given, above 0 up
	// to 1: one that has just come is still warming up. Zero counts as 1.
	Share float64
}

// Ask is what a choice needs to know beside the candidates.
type Ask struct {
	// Turn rises with every choice for the model, so that equals may take turns.
	Turn uint64
	// Dice is a number that nobody could foresee, for what is left to chance.
	Dice uint64
	// Rate is the requests a second that each of the model's replicas gets.
	Rate float64
	// Busy is the share of them that has a prompt to read, from 0 to 1.
	Busy float64
	// Grain is what the candidates' times are no finer than.
	Grain time.Duration
}

// LeastDelay picks the replica where the request delays the fewest for the
// shortest time, itself included. The zero value is ready. See [LeastDelay.Cost].
type LeastDelay struct{}

// Cost is what a choice makes people wait: the request itself, for the time to
// its first token, and those that come after it while the replica has not caught
// up, for the work that it puts before them. By the theory of queues a queue
// that is now T long lasts T/(1-Busy) until it is empty, and Rate requests a
// second come into it, so the sum is
//
//	T + Work * Rate * T/(1-Busy)  with  T = Wait + Work
//
// of which this is (1-Busy) times, which orders the same and stays finite. With
// little to do it is the least time to the first token; where replicas always
// have something to read only the product of new work and queue remains, which
// is the rule of LMetric (arXiv 2603.15202) with the queue in seconds instead of
// requests. Between them nothing is there to be tuned. A replica that is warming
// up counts as one that is so much slower. Seconds.
func (LeastDelay) Cost(c Candidate, a Ask) float64 {
	work := c.Work.Seconds() / c.share()
	first := c.Wait.Seconds()/c.share() + work
	return first * (max(1-a.Busy, 0) + work*a.Rate)
}

// Pick returns the position of the chosen candidate. Among those that are as
// good as the best within the grain, one where the adapter is resident goes
// first, and then the less used one of two that are drawn: several routers that
// see the same would all run to the least used one.
func (p LeastDelay) Pick(candidates []Candidate, a Ask) int {
	best, least := -1, 0.0
	for i := range candidates {
		c := &candidates[i]
		if best >= 0 && c.LastResort && !candidates[best].LastResort {
			continue
		}
		cost := p.Cost(*c, a)
		if best < 0 || candidates[best].LastResort && !c.LastResort || cost < least {
			best, least = i, cost
		}
	}
	return among(candidates, peers{best: candidates[best], grain: a.Grain}, a.Dice)
}

// peers are the candidates that are as good as the best.
type peers struct {
	best  Candidate
	grain time.Duration
}

func (p *peers) has(c *Candidate) bool {
	return c.LastResort == p.best.LastResort && (c.Resident || !p.best.Resident) &&
		(c.Wait-p.best.Wait).Abs() <= p.grain && (c.Work-p.best.Work).Abs() <= p.grain
}

// among draws two of the peers and returns the less used one. There is always
// one: the best, or one that beats it by being resident.
func among(candidates []Candidate, p peers, dice uint64) int {
	equals, resident := 0, 0
	for i := range candidates {
		if c := &candidates[i]; p.has(c) {
			equals++
			if c.Resident {
				resident++
			}
		}
	}
	if resident > 0 {
		equals, p.best.Resident = resident, true
	}
	first, step := dice%uint64(equals), uint64(1)
	if equals > 2 {
		step += (dice >> 32) % uint64(equals-1) // never round to the first one
	}
	one := nth(candidates, &p, int(first))
	two := nth(candidates, &p, int((first+step)%uint64(equals)))
	if candidates[two].load() < candidates[one].load() {
		return two
	}
	return one
}

// nth is the place of the nth peer.
func nth(candidates []Candidate, p *peers, n int) int {
	for i := range candidates {
		if !p.has(&candidates[i]) {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return 0
}

// LeastOutstanding picks the replica with the fewest requests in flight; equals
// take turns. It looks at nothing else. The zero value is ready.
type LeastOutstanding struct{}

// Pick returns the position of the chosen candidate.
func (LeastOutstanding) Pick(candidates []Candidate, a Ask) int {
	best, ties := 0, uint64(0)
	for i, c := range candidates {
		switch b := candidates[best]; {
		case i == 0 || c.before(b):
			best, ties = i, 1
		case !b.before(c):
			ties++
		}
	}
	skip := a.Turn % ties
	for i := best; ; i++ {
		if candidates[best].before(candidates[i]) {
			continue
		}
		if skip == 0 {
			return i
		}
		skip--
	}
}

// before reports whether c is the better choice.
func (c Candidate) before(d Candidate) bool {
	if c.LastResort != d.LastResort {
		return d.LastResort
	}
	return c.load() < d.load()
}

// load is what the replica has to do if it gets one more, as if it were as warm
// as the others.
func (c Candidate) load() float64 { return float64(c.Outstanding+1) / c.share() }

func (c Candidate) share() float64 {
	if c.Share <= 0 {
		return 1
	}
	return c.Share
}
