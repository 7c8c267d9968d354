package steer

import (
	"math"
	"time"
)

const (
	// blocksOfModel bounds what is kept for one model: some four megabytes.
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
	swap    mean // seconds more that it takes where the adapter was another one
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
		return Expectation{Work: duration(m.work(m.fresh(0), 1, adapter == "")), Resident: adapter == ""}
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
		Work:     duration(m.work(m.fresh(held), r.ratio.factor(), r.last == adapter)),
		Cached:   int64(m.tokens(held)),
		Resident: r.last == adapter, Outstanding: int64(r.open),
	}
}

// work is the seconds that so many new tokens take a replica that is so much slower than the model's.
func (m *Model) work(fresh, factor float64, resident bool) float64 {
	s := m.speed.expect(fresh) * factor
	if !resident {
		s += m.swap.or(0)
	}
	return s
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
	// sample is what its first token taught, once it came.
	sample sample
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
	resident := r.last == how.Adapter
	r.queue.add(waiting{
		ticket: t.id, tokens: fresh, need: m.work(fresh, r.ratio.factor(), resident), sent: now, silent: !how.Streams,
		late: s.Slots > 0 && r.open >= s.Slots, resident: resident,
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
