package router

// Candidate is a replica that may be asked, as far as choosing goes.
type Candidate struct {
	// Outstanding is the number of requests in flight there from this router.
	Outstanding int64
	// LastResort is a replica that may not answer: its node is silent, or it
	// failed a moment ago. It is chosen only when all are.
	LastResort bool
	// Share is how much of a full share the replica should be given, above 0 up
	// to 1: one that has just come is still warming up. Zero counts as 1.
	Share float64
}

// LeastOutstanding picks the replica with the fewest requests in flight; equals
// take turns. The zero value is ready.
type LeastOutstanding struct{}

// Pick returns the position of the chosen candidate.
func (LeastOutstanding) Pick(candidates []Candidate, turn uint64) int {
	best, ties := 0, uint64(0)
	for i, c := range candidates {
		switch b := candidates[best]; {
		case i == 0 || c.before(b):
			best, ties = i, 1
		case !b.before(c):
			ties++
		}
	}
	skip := turn % ties
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
func (c Candidate) load() float64 {
	if c.Share <= 0 {
		return float64(c.Outstanding + 1)
	}
	return float64(c.Outstanding+1) / c.Share
}
