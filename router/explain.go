package router

import (
	"slices"
	"sync"
	"time"

	"llmgw.io/llmgw/catalog"
)

const (
	decisionsKept = 4096
	optionsKept   = 16
)

// Decision is one choice of a replica, with what it was made by.
type Decision struct {
	// Request is the id that the client was told.
	Request string
	At      time.Time
	Model   catalog.Name
	// Adapter is the one asked for. Empty: the model itself.
	Adapter catalog.Name
	// PromptTokens is how long the prompt was taken to be.
	PromptTokens int64
	// Ask is what was known beside the options.
	Ask Ask
	// Options are the replicas that could be chosen, the chosen one first and then
	// the soonest ones, at most 16.
	Options []Option
	// More is how many others there were.
	More int
}

// Option is a replica that could be chosen.
type Option struct {
	Replica string
	Candidate
	// Cost is what the picker went by, where it has one: see [LeastDelay.Cost].
	// Zero: it has none.
	Cost float64
}

// decisions are the newest choices of this process, to be looked at by people.
// Older ones are overwritten, with their memory.
type decisions struct {
	mu   sync.Mutex
	ring []Decision
	next int
}

// Decisions returns how the replicas of a request were chosen, in the order of
// its attempts. It is empty for a request that is not among the newest 4096
// choices of this router, or that never had a replica to choose.
func (r *Router) Decisions(request string) []Decision {
	d := &r.decisions
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Decision
	for i := range d.ring {
		// From the oldest one on.
		c := d.ring[(d.next+i)%len(d.ring)]
		if c.Request == request {
			c.Options = slices.Clone(c.Options)
			r.price(&c)
			out = append(out, c)
		}
	}
	return out
}

// price says what the picker saw in each option.
func (r *Router) price(d *Decision) {
	p, ok := r.cfg.Picker.(interface {
		Cost(c Candidate, a Ask) float64
	})
	if !ok {
		return
	}
	for i := range d.Options {
		d.Options[i].Cost = p.Cost(d.Options[i].Candidate, d.Ask)
	}
}

// keep notes the choice that the exchange has just made.
func (d *decisions) keep(x *exchange, list []Backend, chosen int, made Decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ring) < decisionsKept {
		d.ring = append(d.ring, Decision{})
		d.next = len(d.ring) - 1
	}
	slot := &d.ring[d.next]
	d.next = (d.next + 1) % decisionsKept
	made.Options = slot.Options[:0]
	for _, i := range soonest(x.choices, chosen, new([optionsKept]int)) {
		made.Options = append(made.Options, Option{Replica: list[x.places[i]].ID, Candidate: x.choices[i]})
	}
	made.More = len(x.choices) - len(made.Options)
	*slot = made
}

// soonest are the positions of the candidate that was chosen and of those after
// it that come to a first token soonest, as many as there is room for.
func soonest(candidates []Candidate, chosen int, room *[optionsKept]int) []int {
	room[0] = chosen
	n := 1
	for i := range candidates {
		if i == chosen {
			continue
		}
		at := n
		for at > 1 && candidates[i].first() < candidates[room[at-1]].first() {
			at--
		}
		if at == optionsKept {
			continue
		}
		n = min(n+1, optionsKept)
		copy(room[at+1:n], room[at:n-1])
		room[at] = i
	}
	return room[:n]
}

func (c *Candidate) first() time.Duration { return c.Wait + c.Work }
