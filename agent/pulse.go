package agent

import "time"

// hungProbes is how many probes in a row must fail before an engine counts as
// hung where it does not say how much it generated: a busy one answers late.
const hungProbes = 4

// pulse decides whether an engine that is ready still generates. A probe that
// fails alone proves nothing, since it waits behind the work of others; tokens
// that move disprove it.
type pulse struct {
	limit  time.Duration
	failed int
	// moved is when the count of tokens was last seen to rise; counted says
	// that the engine has such a count.
	counted bool
	tokens  int64
	moved   time.Time
	// busy says that the engine last answered that it works on requests.
	busy bool
}

func newPulse(limit time.Duration) *pulse { return &pulse{limit: limit} }

// generated takes the engine's count of tokens. One that falls is of an engine
// that started its count again, which is a sign of life too.
func (p *pulse) generated(tokens int64, now time.Time) {
	if !p.counted || tokens != p.tokens {
		p.moved = now
	}
	p.counted, p.tokens = true, tokens
}

// probed takes the end of a probe and reports whether the engine hangs.
func (p *pulse) probed(err error, now time.Time) bool {
	if err == nil {
		p.failed = 0
		return false
	}
	p.failed++
	if p.counted {
		return p.failed > 1 && now.Sub(p.moved) >= p.limit
	}
	if p.busy {
		// It answers, and the probe may wait behind the requests of others. To
		// stop an engine for being in demand is worse than to keep a hung one.
		p.failed = 0
		return false
	}
	return p.failed >= hungProbes
}
