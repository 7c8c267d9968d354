package steer

import (
	"math"
	"time"
)

// sample is how long so many new tokens took. The tokens are what was expected until the engine has counted.
type sample struct {
	known        bool // there is one, and nothing was learned from it yet
	late         bool // the prompt waited for a slot
	tokens, took float64
	resident     bool
}

// ratio is how much slower than its model a replica is. It begins as equal, with the weight of so many seconds as eight
// requests take.
type ratio struct {
	took, expected float64
	samples        int
}

// enough is how many samples tell how quick a replica is: about as many as its
// ratio is a mean of.
const enough = 64

func (r *ratio) factor() float64 {
	if r.expected <= 0 {
		return 1
	}
	return r.took / r.expected
}

func (r *ratio) add(took, expected float64) {
	const keep = 1 - 1.0/64
	if r.expected == 0 {
		r.took, r.expected = 8*expected, 8*expected
	}
	r.took, r.expected = r.took*keep+took, r.expected*keep+expected
	r.samples = min(r.samples+1, enough)
}

// EachSlowness tells of every replica how many times slower than usual for the
// model it reads prompts, what it had cached and what waited there aside: 1 is as
// usual. It is silent of one that was not measured over [enough] requests.
func (m *Model) EachSlowness(tell func(id string, slowness float64)) {
	for id, r := range m.replicas {
		if r.ratio.samples >= enough {
			tell(id, r.ratio.factor())
		}
	}
}

// Began notes that the first token came.
func (m *Model) Began(now time.Time, t *Ticket) {
	r := t.to
	if r == nil {
		return
	}
	w, ok := r.queue.end(t.id)
	if !ok {
		return
	}
	m.watch()
	t.began, t.sample = now, r.queue.took(now, w)
	if m.speed.tokens.n == 0 {
		m.learn(r, &t.sample) // nothing is known yet, so a guess at what is new has to do
	}
}

// watch begins anew with the first first token: whole answers said something else.
func (m *Model) watch() {
	if m.watched {
		return
	}
	m.watched, m.speed = true, newSpeed()
	for _, r := range m.replicas {
		r.ratio = ratio{}
	}
}

// learn takes a sample, once. A time with another adapter than before says what the change costs.
func (m *Model) learn(r *replica, s *sample) {
	if !s.known {
		return
	}
	s.known = false
	if !s.resident && m.speed.tokens.n > 0 {
		m.swap.add(max(s.took-m.speed.expect(s.tokens)*r.ratio.factor(), 0))
		return
	}
	took := m.speed.learn(s.tokens, s.took)
	r.ratio.add(took, m.speed.expect(s.tokens))
}

// Found is what an engine said of a request that it answered.
type Found struct {
	// OK: it was answered to its end. Of another one nothing is learned.
	OK bool
	// PromptTokens is what the engine counted; 0: it did not say.
	PromptTokens int64
	// CachedTokens is how many of them were in its cache already; -1: it did not say.
	CachedTokens int64
}

// Done notes that a request ended, however it did. It must be called once for each that was sent. It returns what the
// replica would have taken to read a prompt of the usual length, as quick as it was with this one: that can be held
// against its peers', whatever was cached and queued. Zero: nobody can tell.
func (m *Model) Done(now time.Time, t *Ticket, f Found) (usual time.Duration) {
	r := t.to
	if r == nil {
		return 0
	}
	r.open--
	if w, unread := r.queue.end(t.id); unread {
		last := r.queue.took(now, w)
		if f.OK && !m.watched {
			t.sample = last // no first token was ever seen, so the end has to do
		}
	}
	if f.PromptTokens > 0 && f.CachedTokens >= 0 {
		t.sample.tokens = max(float64(f.PromptTokens-f.CachedTokens), 1)
	}
	usual = m.usual(&t.sample)
	m.learn(r, &t.sample)
	if f.OK {
		m.hold.add(max(seconds(now.Sub(t.began)), 0))
		m.found(r, t, f)
	}
	*t = Ticket{}
	return usual
}

// usual is what a sample says of a prompt of the usual length.
func (m *Model) usual(s *sample) time.Duration {
	if s.took == 0 || s.late || !s.resident || m.speed.tokens.n == 0 {
		return 0
	}
	return duration(s.took / m.speed.expect(s.tokens) * m.speed.expect(m.speed.tokens.or(1)))
}

// found corrects what is believed of a replica's cache by what the engine found there. The blocks of this prompt are
// there now; it is about those of others.
func (m *Model) found(r *replica, t *Ticket, f Found) {
	if f.PromptTokens > 0 && t.bytes > 0 {
		m.bytes.ratio(float64(t.bytes), float64(f.PromptTokens))
	}
	if f.CachedTokens < 0 {
		return
	}
	cached := float64(f.CachedTokens)
	switch {
	case cached < t.tokens/2: // so its cache is less deep than these blocks lay
		r.limit = min(r.limit, m.tokensOf(t.depth))
	case cached > t.tokens && !math.IsInf(r.limit, 1):
		r.limit += cached - t.tokens
	}
	if m.slots[r.cache.slot] == r {
		r.cache.shrink(&m.index, m.room(r))
	}
}
