package router

import (
	"math/rand/v2"
	"sync"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/router/steer"
)

// steering is what is known of one model's replicas, and who guards it.
type steering struct {
	mu    sync.Mutex
	model *steer.Model
	turn  uint64
	line  line
}

// scratch is memory for choices, which one request after another uses.
type scratch struct {
	choices []Candidate
	places  []int // of the choices in the list of replicas
	seen    seen
	// prompt is that of the request, under the adapter promptFor once it was read.
	prompt    steer.Prompt
	promptFor catalog.Name
	wasRead   bool
}

var scratches = sync.Pool{New: func() any { return &scratch{prompt: steer.Prompt{Blocks: make([]steer.Block, 0, 64)}} }}

// clear makes room for the next choice.
func (x *exchange) clear() {
	if x.scratch == nil {
		x.scratch = scratches.Get().(*scratch)
		x.wasRead = false
	}
	x.choices, x.places = x.choices[:0], x.places[:0]
	x.seen.reset()
}

// read makes the hashes of the prompt, once for each adapter that it is asked
// with. What an engine puts before the messages, and what it keeps caches apart
// by, goes in first.
func (x *exchange) read(adapter catalog.Name) {
	if x.wasRead && x.promptFor == adapter {
		return
	}
	x.wasRead, x.promptFor = true, adapter
	x.prompt.Reset()
	x.prompt.Tokens = x.asked.InputTokens
	h := x.r.hasher
	if adapter != "" {
		h.Under(&x.prompt, []byte(adapter))
	}
	if span, ok := x.asked.Value(openai.FieldTools); ok {
		h.Under(&x.prompt, x.body.b[span.Start:span.End])
	}
	for _, f := range [...]openai.Field{openai.FieldMessages, openai.FieldPrompt} {
		if span, ok := x.asked.Value(f); ok {
			h.Add(&x.prompt, x.body.b[span.Start:span.End])
			return
		}
	}
	if span, ok := x.asked.Value(openai.FieldInput); ok {
		x.prompt.Bytes = span.End - span.Start // no engine keeps anything of an embedding's input
	}
}

// limited says that the replica takes only so many requests at once: others run
// it, and its profile says how many are ours.
func (b *Backend) limited() bool { return b.Static && b.Slots > 0 }

func (b *Backend) taken(outstanding int64) bool { return b.limited() && outstanding >= int64(b.Slots) }

func (b *Backend) spec() steer.Spec {
	return steer.Spec{ID: b.ID, CacheTokens: b.CacheTokens, Slots: b.Slots}
}

// keep forgets the replicas that are gone.
func (s *steering) keep(there map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.Retain(func(id string) bool { return there[id] })
}

// slowness adds how quick replicas are to what is known of them.
func (s *steering) slowness(of map[string]ReplicaTraffic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.EachSlowness(func(id string, slowness float64) {
		if t, there := of[id]; there {
			t.Slowness = slowness
			of[id] = t
		}
	})
}

// choose picks among the replicas at x.places and notes that the request goes
// there, so that the next choice knows of it. It returns a position in
// x.places, of which there is at least one; -1 when all take only so many at once
// and have them.
func (x *exchange) choose(g goal, list []Backend, d *demand, now time.Time) int {
	made := Decision{Request: x.row.ID, At: now, Model: g.model(), Adapter: g.adapter()}
	chosen := x.weigh(list, &made, &d.steering)
	if chosen < 0 {
		return chosen
	}
	x.r.decisions.keep(x, list, chosen, made)
	return chosen
}

func (x *exchange) weigh(list []Backend, made *Decision, s *steering) int {
	adapter := string(made.Adapter)
	x.steered, x.found = s, steer.Found{CachedTokens: -1}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.Match(made.At, &x.prompt)
	made.PromptTokens = s.model.Tokens()
	n := 0
	for i, place := range x.places {
		e := s.model.Expect(made.At, list[place].spec(), adapter)
		if list[place].taken(e.Outstanding) || list[place].limited() && !x.place.called && s.line.ahead(x.place.in) {
			continue
		}
		c := x.choices[i]
		c.Outstanding, c.Wait, c.Work, c.Cached, c.Resident = e.Outstanding, e.Wait, e.Work, e.Cached, e.Resident
		x.choices[n], x.places[n] = c, place
		n++
	}
	x.choices, x.places = x.choices[:n], x.places[:n]
	if x.place.crowded = n == 0; x.place.crowded {
		s.stand(&x.place)
		return -1
	}
	of := s.model.Demand(len(x.places))
	made.Ask = Ask{Turn: s.turn, Dice: rand.Uint64(), Rate: of.Rate, Busy: of.Busy, Grain: s.model.Grain()}
	s.turn++
	chosen := x.r.cfg.Picker.Pick(x.choices, made.Ask)
	streams := x.ep.streams && x.asked.Stream
	x.place.held = true
	x.ticket = s.model.Send(made.At, list[x.places[chosen]].spec(), steer.Sent{Adapter: adapter, Streams: streams})
	return chosen
}

// stand puts a request that found no place in line, under the lock under which it
// looked, so that none is missed.
func (s *steering) stand(p *place) {
	switch {
	case p.called:
		s.line.back(p.in)
		p.called, p.more = false, false
	case p.may && p.in == nil:
		p.in = s.line.join()
	}
}

// firstToken notes that it came.
func (x *exchange) firstToken(now time.Time) {
	s := x.steered
	s.mu.Lock()
	s.model.Began(now, &x.ticket)
	s.mu.Unlock()
}

// over notes that the attempt at a replica ended, or was never made, the first
// time that it is called after a choice. It returns how quick the replica was
// with it: see [steer.Model.Done].
func (x *exchange) over(ok bool) (usual time.Duration) {
	x.found.OK = ok
	s := x.steered
	s.mu.Lock()
	usual = s.model.Done(time.Now(), &x.ticket, x.found)
	if x.place.held {
		x.place.held = false
		s.line.next(false)
	}
	s.mu.Unlock()
	x.found = steer.Found{CachedTokens: -1}
	return usual
}
