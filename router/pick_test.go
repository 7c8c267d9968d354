package router

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/steer"
)

// decision is a model of 32 replicas that is asked with prompts of 8,192 tokens.
type decision struct {
	model   *steer.Model
	specs   []steer.Spec
	prompts []steer.Prompt
	choices []Candidate
	now     time.Time
	tickets [64]steer.Ticket
	n       int
}

// newDecision makes the prompts of 40 tenants: of each prompt three quarters are
// its tenant's, as long system prompts and documents are.
func newDecision() *decision {
	d := &decision{model: steer.NewModel(0), choices: make([]Candidate, 32), now: time.Unix(0, 0)}
	for i := range d.choices {
		d.specs = append(d.specs, steer.Spec{ID: fmt.Sprintf("m-%02d", i), CacheTokens: 300_000, Slots: 64})
	}
	h, dice := steer.NewHasher(), rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 32<<10)
	for i := range 400 {
		tenant := rand.New(rand.NewPCG(uint64(i%40), 3))
		for j := range text {
			if j < len(text)*3/4 {
				text[j] = byte(tenant.Uint32())
			} else {
				text[j] = byte(dice.Uint32())
			}
		}
		var p steer.Prompt
		h.Add(&p, text)
		d.prompts = append(d.prompts, p)
	}
	return d
}

// decide does all that a choice costs: look the prompt up, weigh every replica,
// choose, note the request; and the notes of its first token and its end.
func (d *decision) decide() int {
	d.now = d.now.Add(20 * time.Millisecond)
	d.model.Match(d.now, &d.prompts[d.n%len(d.prompts)])
	for i := range d.specs {
		e := d.model.Expect(d.now, d.specs[i], "")
		d.choices[i] = Candidate{Outstanding: e.Outstanding, Wait: e.Wait, Work: e.Work, Cached: e.Cached, Resident: e.Resident}
	}
	of := d.model.Demand(len(d.specs))
	chosen := LeastDelay{}.Pick(d.choices, Ask{Dice: uint64(d.n) * 0x9e3779b97f4a7c15, Rate: of.Rate, Busy: of.Busy, Grain: d.model.Grain()})
	t := &d.tickets[d.n%len(d.tickets)]
	d.model.Done(d.now, t, steer.Found{OK: true, PromptTokens: 8192, CachedTokens: -1})
	*t = d.model.Send(d.now, d.specs[chosen], steer.Sent{Streams: true})
	d.model.Began(d.now, &d.tickets[(d.n+32)%len(d.tickets)])
	d.n++
	return chosen
}

// BenchmarkDecision is one choice among 32 replicas for a prompt of 8,192 tokens
// that is hashed already.
func BenchmarkDecision(b *testing.B) {
	d := newDecision()
	for range 20_000 {
		d.decide()
	}
	b.ReportAllocs()
	for b.Loop() {
		d.decide()
	}
}

func TestDecisionCostsNoMemory(t *testing.T) {
	d := newDecision()
	for range 20_000 {
		d.decide()
	}
	if n := testing.AllocsPerRun(2000, func() { d.decide() }); n > 0 {
		t.Errorf("a decision costs %v allocations", n)
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func TestLeastDelay(t *testing.T) {
	t.Parallel()
	idle := Ask{Rate: .1, Grain: ms(1)}
	full := Ask{Rate: 1, Busy: 1, Grain: ms(1)}
	warm := Candidate{Wait: ms(900), Work: ms(100), Resident: true}
	cold := Candidate{Wait: ms(100), Work: ms(800), Resident: true}
	for _, c := range []struct {
		name       string
		candidates []Candidate
		ask        Ask
		want       []int // for some throws of the dice: 0, 1, 1<<32, 1<<32+1
	}{
		{"one", []Candidate{cold}, idle, []int{0, 0, 0, 0}},
		{"with little to do the first token counts", []Candidate{warm, cold}, idle, []int{1, 1, 1, 1}},
		{"with no end of work the work counts", []Candidate{cold, warm}, full, []int{1, 1, 1, 1}},
		{"and the queue", []Candidate{{Wait: ms(8000), Work: ms(100)}, cold}, full, []int{1, 1, 1, 1}},
		{"of two equals the less used", []Candidate{{Outstanding: 3}, {Outstanding: 2}}, idle, []int{1, 1, 1, 1}},
		{"of three equals the less used of two that are drawn", []Candidate{{Outstanding: 3}, {Outstanding: 2}, {Outstanding: 1}}, idle, []int{1, 2, 1, 2}},
		{"equal within the grain", []Candidate{{Work: ms(5)}, {Work: ms(6)}}, idle, []int{0, 1, 0, 1}},
		{"not equal", []Candidate{{Work: ms(7)}, {Work: ms(5)}}, idle, []int{1, 1, 1, 1}},
		{"the adapter is there", []Candidate{{}, {Outstanding: 9, Resident: true}}, idle, []int{1, 1, 1, 1}},
		{"the adapter is there, for a higher price", []Candidate{{}, {Work: ms(2), Resident: true}}, idle, []int{0, 0, 0, 0}},
		{"warming up", []Candidate{{Work: ms(100), Share: .1}, {Wait: ms(700), Work: ms(100)}}, idle, []int{1, 1, 1, 1}},
		{"warmed up", []Candidate{{Work: ms(100), Share: .2}, {Wait: ms(700), Work: ms(100)}}, idle, []int{0, 0, 0, 0}},
		{"warming up, and equal", []Candidate{{Share: .1}, {Outstanding: 8}}, idle, []int{1, 1, 1, 1}},
		{"last resort", []Candidate{{LastResort: true}, {Wait: ms(9000), Outstanding: 9}}, idle, []int{1, 1, 1, 1}},
		{"only last resorts", []Candidate{{Wait: ms(9), Work: ms(9), LastResort: true}, {Work: ms(9), LastResort: true}}, full, []int{1, 1, 1, 1}},
	} {
		for i, dice := range []uint64{0, 1, 1 << 32, 1<<32 + 1} {
			ask := c.ask
			ask.Dice = dice
			if got := (LeastDelay{}).Pick(c.candidates, ask); got != c.want[i] {
				t.Errorf("%s: dice %x choose %d, want %d", c.name, dice, got, c.want[i])
			}
		}
	}
}

// The order of candidates decides nothing but among equals.
func TestLeastDelayIsTheLeast(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		candidates := make([]Candidate, 1+dice.IntN(12))
		for i := range candidates {
			candidates[i] = Candidate{Wait: ms(10 * dice.IntN(50)), Work: ms(1 + 10*dice.IntN(50)), LastResort: dice.IntN(4) == 0}
		}
		ask := Ask{Dice: dice.Uint64(), Rate: dice.Float64() * 10, Busy: dice.Float64(), Grain: ms(1)}
		got := candidates[LeastDelay{}.Pick(candidates, ask)]
		for _, c := range candidates {
			better := !c.LastResort && got.LastResort || c.LastResort == got.LastResort && LeastDelay{}.Cost(c, ask) < LeastDelay{}.Cost(got, ask)
			if better {
				t.Fatalf("%+v was chosen before %+v, asked %+v", got, c, ask)
			}
		}
	}
}

// Endpoints that others run have the slots of their profile.
func TestStaticSlots(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{0, 3} {
		m := catalog.Model{Name: "m", Profiles: []catalog.Profile{{Engine: catalog.EngineStatic, Slots: slots, Endpoints: []catalog.Endpoint{{URL: "http://a"}}}}}
		s := &statics{all: map[string]*endpointState{}, change: make(chan struct{})}
		for _, e := range endpointsOf(&m) {
			e.Healthy = true
			s.all[e.ID] = e
		}
		s.publish()
		if ready := (*s.good.Load())["m"].ready; len(ready) != 1 || ready[0].Slots != slots {
			t.Errorf("of %d slots the router knows %+v", slots, ready)
		}
	}
}
