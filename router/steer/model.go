package steer

import (
	"math"
	"time"
)

const (
	// blocksOfModel bounds what is kept for one model: some three megabytes.
	blocksOfModel = 32 << 10
	// horizon is the time over which demand is measured. Any from ten seconds to five minutes gives the same choices but
	// for a hundredth.
	horizon = time.Minute
)

// Model is what is known of one model's replicas. Make one with [NewModel].
type Model struct {
	index    index
	replicas map[string]*replica
	slots    []*replica // by their slot in the index; nil: free
	depth    []int      // bytes that each holds of the prompt that was matched last
	alive    []uint64
	prompt   *Prompt

	speed   speed
	watched bool // a first token was seen, so that speed is made of those and not of whole answers
	bytes   mean // of a token
	hold    mean // seconds from an answer's beginning to its end
	demand  demand
	ticket  uint64
}

type replica struct {
	id    string
	cache *cache
	queue queue
	limit float64 // tokens that its cache holds, as far as is known
	ratio ratio   // of its own times to those of the model
	open  int     // requests that were sent and have not ended
	last  string  // the adapter asked for last
}

// ratio is how much slower than its model a replica is. It begins as equal, with the weight of so many seconds as eight
// requests take.
type ratio struct{ took, expected float64 }

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
}

// NewModel makes a model of which nothing is known. bytes is how many bytes a token has until that is learned from what
// engines count; 0 means 4, as in English text.
func NewModel(bytes float64) *Model {
	m := &Model{index: newIndex(), replicas: map[string]*replica{}, speed: newSpeed(), prompt: &Prompt{}}
	if bytes <= 0 {
		bytes = firstBytes
	}
	m.bytes.ratio(bytes, 1) // fades as answers are counted
	return m
}

// Spec is what a replica is known to be.
type Spec struct {
	ID string
	// CacheTokens is how many tokens its cache holds. 0: unknown, and learned from what it finds there.
	CacheTokens int64
	// Slots is how many requests it works at at once. 0: unknown, and no request is taken to wait for one.
	Slots int
}

// Expectation is how long a replica would take to a prompt's first token.
type Expectation struct {
	// Wait is the time until it comes to the prompt, Work the time that it then needs.
	Wait, Work time.Duration
	// Cached is how many of the prompt's tokens it is believed to hold already.
	Cached int64
	// Resident tells that the adapter asked for, or none, is what it was asked for last.
	Resident bool
	// Outstanding is how many requests were sent there and have not ended.
	Outstanding int64
}

// Match looks a prompt up for all replicas. [Model.Expect] and [Model.Send] are about this one until the next; it must
// not change in between.
func (m *Model) Match(now time.Time, p *Prompt) {
	m.prompt = p
	m.demand.look(now)
	m.index.match(p.Blocks, m.depth, m.alive)
}

// Tokens is how long the prompt that was matched is taken to be.
func (m *Model) Tokens() int64 { return int64(m.fresh(0)) }

// Expect says how long a replica would take with the prompt that was matched. adapter is empty for the model itself. A
// replica that was never heard of is expected to be like the others, with an empty cache.
func (m *Model) Expect(now time.Time, s Spec, adapter string) Expectation {
	r := m.replicas[s.ID]
	if r == nil {
		m.demand.saw(false)
		return Expectation{Work: duration(m.speed.expect(m.fresh(0))), Resident: adapter == ""}
	}
	r.told(s)
	if m.watched {
		r.queue.pass(now)
	}
	held := m.depth[r.cache.slot]
	wait := r.queue.left(now)
	m.demand.saw(wait > 0)
	return Expectation{
		Wait:     duration(wait + m.slotWait(r, s)),
		Work:     duration(m.speed.expect(m.fresh(held)) * r.ratio.factor()),
		Cached:   int64(m.tokens(held)),
		Resident: r.last == adapter, Outstanding: int64(r.open),
	}
}

// told takes what an operator says of the cache. What was learned stays where it is less.
func (r *replica) told(s Spec) {
	if s.CacheTokens > 0 && r.limit > float64(s.CacheTokens) {
		r.limit = float64(s.CacheTokens)
	}
}

// slotWait is how long it takes until a replica all of whose slots are taken has one: they end one after another.
func (m *Model) slotWait(r *replica, s Spec) float64 {
	over := r.open - s.Slots + 1
	if s.Slots <= 0 || over <= 0 {
		return 0
	}
	return m.hold.or(0) * float64(over) / float64(s.Slots)
}

// Demand is how much is asked of the model's replicas.
type Demand struct {
	// Rate is the requests a second for each of them.
	Rate float64
	// Busy is the share of them that has a prompt to read, from 0 to 1.
	Busy float64
}

// Demand is that of now, for so many replicas.
func (m *Model) Demand(replicas int) Demand {
	return Demand{Rate: m.demand.rate() / float64(max(replicas, 1)), Busy: m.demand.busy}
}

// Grain is what the estimates are no finer than: the time that the smallest block takes.
func (m *Model) Grain() time.Duration {
	return duration(m.speed.perToken * m.tokens(blockAfter(0)))
}

// Ticket is a request that was sent. The zero value is none, and what is done with it changes nothing.
type Ticket struct {
	to     *replica // one that was forgotten meanwhile learns in vain
	id     uint64
	bytes  int
	tokens float64 // expected in the cache
	depth  float64 // bytes; see cache.use
	began  time.Time
}

// Sent says how a request goes out.
type Sent struct {
	// Adapter is empty for the model itself.
	Adapter string
	// Streams tells that its first token will be seen, and [Model.Began] be called.
	Streams bool
}

// Send notes that the prompt that was matched goes to a replica.
func (m *Model) Send(now time.Time, s Spec, how Sent) Ticket {
	r := m.of(s)
	held := m.depth[r.cache.slot]
	fresh := m.fresh(held)
	m.ticket++
	t := Ticket{to: r, id: m.ticket, bytes: m.prompt.Bytes, tokens: m.tokens(held), began: now}
	r.queue.add(waiting{
		ticket: t.id, tokens: fresh, need: m.speed.expect(fresh) * r.ratio.factor(), sent: now, silent: !how.Streams,
		late: s.Slots > 0 && r.open >= s.Slots,
	})
	r.open++
	r.last = how.Adapter
	t.depth = r.cache.use(&m.index, m.prompt.Blocks, m.room(r))
	m.demand.asked()
	return t
}

// of finds a replica, or makes room for it.
func (m *Model) of(s Spec) *replica {
	if r := m.replicas[s.ID]; r != nil {
		return r
	}
	slot := 0
	for slot < len(m.slots) && m.slots[slot] != nil {
		slot++
	}
	r := &replica{id: s.ID, cache: newCache(slot), limit: math.Inf(1)}
	r.told(s)
	if slot == len(m.slots) {
		m.slots, m.depth = append(m.slots, r), append(m.depth, 0)
		m.index.fit(len(m.slots))
		m.alive = make([]uint64, m.index.width)
	}
	m.slots[slot], m.depth[slot] = r, 0
	m.replicas[s.ID] = r
	return r
}

func (m *Model) room(r *replica) room {
	return room{bytes: r.limit * m.bytes.or(firstBytes), blocks: blocksOfModel / max(len(m.replicas), 1)}
}

// Began notes that the first token came.
func (m *Model) Began(now time.Time, t *Ticket) {
	r := t.to
	if r == nil {
		return
	}
	if w, ok := r.queue.end(t.id); ok {
		t.began = now
		m.watch()
		m.learn(now, r, w)
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

// learn takes a time to a first token for the time that the prompt's new tokens took, less that of those before it.
func (m *Model) learn(now time.Time, r *replica, w waiting) {
	from := w.sent
	if r.queue.since.After(from) {
		from = r.queue.since
	}
	r.queue.since = now
	if w.late {
		return
	}
	took := max(seconds(now.Sub(from)), 0)
	took = m.speed.learn(w.tokens, took)
	r.ratio.add(took, m.speed.expect(w.tokens))
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

// Done notes that a request ended, however it did. It must be called once for each that was sent.
func (m *Model) Done(now time.Time, t *Ticket, f Found) {
	r := t.to
	if r == nil {
		return
	}
	r.open--
	w, unread := r.queue.end(t.id)
	switch {
	case !f.OK:
		if unread {
			r.queue.since = now
		}
	case unread && !m.watched:
		m.learn(now, r, w) // no first token was ever seen, so the end has to do
	case unread:
		r.queue.since = now
	}
	if f.OK {
		m.hold.add(max(seconds(now.Sub(t.began)), 0))
		m.found(r, t, f)
	}
	*t = Ticket{}
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

// Retain forgets the replicas that are gone.
func (m *Model) Retain(there func(id string) bool) {
	for i, r := range m.slots {
		if r == nil || there(r.id) {
			continue
		}
		r.cache.shrink(&m.index, room{bytes: -1})
		m.slots[i] = nil
		delete(m.replicas, r.id)
	}
}

// tokens are those of so many bytes.
func (m *Model) tokens(bytes int) float64 { return m.tokensOf(float64(bytes)) }

func (m *Model) tokensOf(bytes float64) float64 { return bytes / m.bytes.or(firstBytes) }

// fresh are the tokens of the prompt that are not among its first held bytes. An engine always reads at least one.
func (m *Model) fresh(held int) float64 {
	if m.prompt.Tokens > 0 {
		return max(float64(m.prompt.Tokens)*(1-float64(held)/float64(max(m.prompt.Bytes, 1))), 1)
	}
	return max(m.tokens(m.prompt.Bytes-held), 1)
}
