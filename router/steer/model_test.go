package steer

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Unix(1_000_000, 0)

func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// text is a prompt of so many blocks of a hundred bytes, which begin alike where
// their names do.
func text(names ...uint64) *Prompt {
	p := &Prompt{Bytes: 100 * len(names)}
	chain := uint64(7)
	for i, n := range names {
		chain = chain*1_000_003 + n
		p.Blocks = append(p.Blocks, Block{Hash: chain, End: 100 * (i + 1)})
	}
	return p
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > .02*math.Abs(want)+1e-6 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// serve is a request that is sent, begins and ends at these times.
func serve(m *Model, p *Prompt, s Spec, sent, began, done float64, f Found) {
	m.Match(at(sent), p)
	t := m.Send(at(sent), s, Sent{Streams: true})
	m.Began(at(began), &t)
	m.Done(at(done), &t, f)
}

var silent = Found{OK: true, CachedTokens: -1}

// Rates are learned: what a request costs and what its tokens cost, and which
// replica is slower than the others.
func TestSpeedIsLearned(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	dice := rand.New(rand.NewPCG(1, 2))
	now := 0.0
	for i := range 2000 {
		tokens := 100 + dice.IntN(10_000)
		id, factor := "quick", 1.0
		if i%2 == 1 {
			id, factor = "slow", 3.0
		}
		takes := (.05 + float64(tokens)/2000) * factor
		serve(m, &Prompt{Bytes: tokens}, Spec{ID: id}, now, now+takes, now+takes+1, silent)
		now += takes + 2
	}
	m.Match(at(now), &Prompt{Bytes: 4000})
	quick, slow := m.Expect(at(now), Spec{ID: "quick"}, ""), m.Expect(at(now), Spec{ID: "slow"}, "")
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"quick", quick.Work.Seconds(), .05 + 2},
		{"slow", slow.Work.Seconds(), 3 * (.05 + 2)},
		{"a token", m.Grain().Seconds() / 256, 2.0 / 2000}, // of the two together
	} {
		if math.Abs(c.got/c.want-1) > .15 {
			t.Errorf("%s is expected to take %v s, want %v", c.what, c.got, c.want)
		}
	}
}

// How slow a replica is against its model is told once it answered enough.
func TestSlownessIsToldOfWhatIsMeasured(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	told := func() map[string]float64 {
		out := map[string]float64{}
		m.EachSlowness(func(id string, slowness float64) { out[id] = slowness })
		return out
	}
	now := 0.0
	for i := range 2 * enough {
		if i == 2*enough-2 && len(told()) != 0 {
			t.Errorf("after %d requests each it is told %v", enough-1, told())
		}
		id, takes := "quick", 1.0
		if i%2 == 1 {
			id, takes = "slow", 3.0
		}
		serve(m, &Prompt{Bytes: 1000}, Spec{ID: id}, now, now+takes, now+takes, silent)
		now += takes + 1
	}
	serve(m, &Prompt{Bytes: 1000}, Spec{ID: "new"}, now, now+9, now+9, silent)
	got := told()
	if _, told := got["new"]; told || len(got) != 2 {
		t.Errorf("want two told, got %v", got)
	}
	if r := got["slow"] / got["quick"]; r < 2.2 || r > 3.2 || got["quick"] > 1 || got["slow"] < 1 {
		t.Errorf("one is three times as slow as the other, told are %v", got)
	}
}

// One request that hangs does not make a fleet look slow.
func TestOneHungRequestMovesLittle(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	now := 0.0
	for range 300 {
		serve(m, &Prompt{Bytes: 1000}, Spec{ID: "a"}, now, now+1, now+1, silent)
		now += 2
	}
	m.Match(at(now), &Prompt{Bytes: 1000})
	before := m.Expect(at(now), Spec{ID: "b"}, "").Work.Seconds()
	serve(m, &Prompt{Bytes: 1000}, Spec{ID: "a"}, now, now+600, now+600, silent)
	m.Match(at(now+601), &Prompt{Bytes: 1000})
	near(t, "before", before, 1)
	if after := m.Expect(at(now+601), Spec{ID: "b"}, "").Work.Seconds(); after > 1.1*before {
		t.Errorf("a request that took 600 s instead of 1 made the others be expected to take %v", after)
	}
}

// A queue is worked off as time goes by, no faster than it can be, and one whose
// first prompt is overdue looks worse with every second.
func TestQueue(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	a := Spec{ID: "a"}
	for i := range 50 {
		serve(m, &Prompt{Bytes: 1000}, a, float64(10*i), float64(10*i)+1, float64(10*i)+2, silent)
	}
	p := &Prompt{Bytes: 1000}
	wait := func(now float64) float64 {
		m.Match(at(now), p)
		return m.Expect(at(now), a, "").Wait.Seconds()
	}
	send := func(now float64) *Ticket {
		m.Match(at(now), p)
		t := m.Send(at(now), a, Sent{Streams: true})
		return &t
	}
	near(t, "idle", wait(1000), 0)
	one, two, three := send(1000), send(1000), send(1000.5)
	near(t, "just sent", wait(1000.5), 2.5)
	near(t, "the first is due", wait(1001), 2)
	near(t, "the first is a second late", wait(1002), 3)
	near(t, "the first is ten seconds late", wait(1011), 12)
	m.Began(at(1011), one)
	near(t, "the first came", wait(1011), 2)
	m.Done(at(1011), two, Found{})
	near(t, "the second was given up", wait(1011), 1)
	m.Began(at(1012), three)
	near(t, "all came", wait(1012), 0)
	if n := m.Expect(at(1012), a, "").Outstanding; n != 2 {
		t.Errorf("%d are outstanding, want 2", n)
	}
}

// Where answers are not streamed no first token is seen. Once it is known how
// long prompts take they leave the queue by themselves; until then they stay to
// their end.
func TestAnswersThatAreNotStreamed(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{false, true} {
		m := NewModel(1)
		a := Spec{ID: "a"}
		if watched {
			for i := range 50 {
				serve(m, &Prompt{Bytes: 1000}, a, float64(10*i), float64(10*i)+1, float64(10*i)+5, silent)
			}
		}
		p := &Prompt{Bytes: 1000}
		m.Match(at(1000), p)
		ticket := m.Send(at(1000), a, Sent{})
		m.Match(at(1003), p)
		if busy := m.Expect(at(1003), a, "").Wait > 0; busy == watched {
			t.Errorf("speed known: %v; after three seconds there is a queue: %v", watched, busy)
		}
		m.Done(at(1008), &ticket, silent)
		m.Match(at(1008), p)
		e := m.Expect(at(1008), Spec{ID: "new"}, "")
		if want := map[bool]float64{false: 8, true: 1}[watched]; math.Abs(e.Work.Seconds()-want) > .1 {
			t.Errorf("speed known: %v; a prompt is expected to take %v, want %v s", watched, e.Work, want)
		}
		serve(m, p, a, 1010, 1011, 1020, silent)
		m.Match(at(1020), p)
		if e := m.Expect(at(1020), a, ""); math.Abs(e.Work.Seconds()-1) > .1 {
			t.Errorf("speed known: %v; once a first token was seen a prompt is expected to take %v", watched, e.Work)
		}
		if wait := m.Expect(at(1008), a, "").Wait; wait != 0 {
			t.Errorf("speed known: %v; nothing is left, and %v is waited for", watched, wait)
		}
	}
}

// Who finds every slot taken waits until one is free.
func TestSlots(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	a := Spec{ID: "a", Slots: 2}
	for i := range 50 {
		serve(m, &Prompt{Bytes: 100}, a, float64(100*i), float64(100*i)+.1, float64(100*i)+10.1, silent)
	}
	p := &Prompt{Bytes: 100}
	for n, want := range []float64{0, 0, 5, 10} {
		m.Match(at(9000), p)
		near(t, "the wait", m.Expect(at(9000), a, "").Wait.Seconds(), want)
		if n < 2 {
			ticket := m.Send(at(9000), a, Sent{Streams: true})
			m.Began(at(9000), &ticket)
		} else {
			m.replicas["a"].open++ // sent and begun, or its own queue would be in the figure
		}
	}
}

// Waiting for a slot is no sign of a slow replica.
func TestWaitingForASlotTeachesNothing(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	a, p := Spec{ID: "a", Slots: 1}, &Prompt{Bytes: 1000}
	for i := range 50 {
		now := float64(1000 * i)
		m.Match(at(now), p)
		one, two := m.Send(at(now), a, Sent{Streams: true}), m.Send(at(now), a, Sent{Streams: true})
		m.Began(at(now+1), &one)
		m.Done(at(now+101), &one, silent)
		m.Began(at(now+102), &two)
		m.Done(at(now+202), &two, silent)
	}
	m.Match(at(99000), p)
	near(t, "a prompt", m.Expect(at(99000), a, "").Work.Seconds(), 1)
}

// Where the engine counts, what a prompt took is held against what was new to it
// and not against what was believed to be.
func TestEnginesKnowBetter(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	a := Spec{ID: "a"}
	for i := range 50 {
		// The whole prompt is believed to be there from the second time on, and never is.
		serve(m, text(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), a, float64(10*i), float64(10*i)+1, float64(10*i)+2, Found{OK: true, PromptTokens: 1000, CachedTokens: 0})
	}
	m.Match(at(9000), text(20, 2, 3, 4, 5, 6, 7, 8, 9, 10))
	near(t, "a thousand new tokens", m.Expect(at(9000), Spec{ID: "b"}, "").Work.Seconds(), 1)
}

// The very first sample is taken at once, and once.
func TestTheFirstTokenTeachesAtOnce(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	p := &Prompt{Bytes: 1000}
	m.Match(at(0), p)
	ticket := m.Send(at(0), Spec{ID: "a"}, Sent{Streams: true})
	m.Began(at(3), &ticket)
	near(t, "what is expected after the first token", m.Expect(at(3), Spec{ID: "b"}, "").Work.Seconds(), 3)
	m.Done(at(4), &ticket, Found{OK: true, PromptTokens: 1000, CachedTokens: 900})
	near(t, "and after the answer", m.Expect(at(4), Spec{ID: "b"}, "").Work.Seconds(), 3)
}

// What another adapter costs is learned, and counts where it is not resident.
func TestAdaptersThatAreChangedCost(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	a, p := Spec{ID: "a"}, &Prompt{Bytes: 1000}
	for i := range 100 {
		adapter := []string{"", "", "fruit", "fruit"}[i%4]
		takes := 1.0
		if i%2 == 0 && i > 0 {
			takes = 3
		}
		now := float64(10 * i)
		m.Match(at(now), p)
		ticket := m.Send(at(now), a, Sent{Adapter: adapter, Streams: true})
		m.Began(at(now+takes), &ticket)
		m.Done(at(now+5), &ticket, silent)
	}
	m.Match(at(9000), p)
	for _, c := range []struct {
		replica, adapter string
		want             float64
	}{{"a", "fruit", 1}, {"a", "", 3}, {"b", "fruit", 3}, {"b", "", 1}} {
		near(t, c.adapter+" on "+c.replica, m.Expect(at(9000), Spec{ID: c.replica}, c.adapter).Work.Seconds(), c.want)
	}
}

// What is cached counts, for the replica that has it alone.
func TestCached(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	a, b := Spec{ID: "a"}, Spec{ID: "b"}
	serve(m, text(1, 2, 3, 4), a, 0, .05, 1, silent)
	serve(m, text(9, 9), b, 2, 2.05, 3, silent)
	m.Match(at(10), text(1, 2, 3, 5, 6))
	ea, eb := m.Expect(at(10), a, ""), m.Expect(at(10), b, "")
	if ea.Cached != 300 || eb.Cached != 0 || ea.Work >= eb.Work {
		t.Errorf("a holds %d and needs %v, b holds %d and needs %v", ea.Cached, ea.Work, eb.Cached, eb.Work)
	}
	m.Match(at(10), text(1, 2, 3, 4))
	if e := m.Expect(at(10), a, ""); e.Cached != 400 || e.Work <= 0 {
		t.Errorf("a whole prompt that is cached: %d tokens, and %v of work", e.Cached, e.Work)
	}
	m.Retain(func(id string) bool { return id != "a" })
	if e := m.Expect(at(10), a, ""); e.Cached != 0 {
		t.Errorf("a replica that was forgotten holds %d tokens", e.Cached)
	}
	serve(m, text(7), Spec{ID: "c"}, 11, 11, 11, silent) // takes a's place
	m.Match(at(12), text(1, 2))
	if e := m.Expect(at(12), Spec{ID: "c"}, ""); e.Cached != 0 {
		t.Errorf("a new replica inherits %d tokens of the one whose place it takes", e.Cached)
	}
}

// An engine that finds less than was believed has a smaller cache than was
// believed, and one that finds more a larger one.
func TestCacheIsAsLargeAsEnginesFind(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	a := Spec{ID: "a"}
	cached := func(p *Prompt) int64 {
		m.Match(at(100), p)
		return m.Expect(at(100), a, "").Cached
	}
	serve(m, text(1, 1, 1), a, 0, 1, 2, Found{OK: true, PromptTokens: 300, CachedTokens: 0})
	for i := range uint64(5) {
		serve(m, text(10+i, 10, 10), a, 3, 4, 5, Found{OK: true, PromptTokens: 300, CachedTokens: 0})
	}
	if got := cached(text(1, 1, 1)); got != 300 {
		t.Fatalf("%d tokens are believed to be cached, want 300", got)
	}
	serve(m, text(1, 1, 1), a, 6, 7, 8, Found{OK: true, PromptTokens: 300, CachedTokens: -1})
	if got := cached(text(10, 10, 10)); got != 300 {
		t.Fatalf("an engine that says nothing of its cache shrank it: %d", got)
	}
	for i := range uint64(4) {
		serve(m, text(20+i, 10, 10), a, 3, 4, 5, Found{OK: true, PromptTokens: 300, CachedTokens: 0})
	}
	// The end of 10 was used nine prompts ago, and so the end of 11 is gone too.
	serve(m, text(10, 10, 10), a, 6, 7, 8, Found{OK: true, PromptTokens: 300, CachedTokens: 0})
	if got := cached(text(11, 10, 10)); got != 200 {
		t.Errorf("of what was used as long ago as something that is gone %d tokens are believed to be there, want 200", got)
	}
	if got := cached(text(10, 10, 10)); got != 300 {
		t.Errorf("the prompt that was read just now is not believed to be there: %d", got)
	}
	before := m.replicas["a"].limit
	serve(m, text(11, 10, 10), a, 6, 7, 8, Found{OK: true, PromptTokens: 300, CachedTokens: 300})
	if after := m.replicas["a"].limit; after != before+100 {
		t.Errorf("100 tokens more than were believed to be there moved the limit from %v to %v", before, after)
	}
}

// How large a cache is comes out by what is found in it, and holds when others
// fill a part of it.
func TestSizeIsLearned(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	a := Spec{ID: "a"}
	dice := rand.New(rand.NewPCG(3, 4))
	engine := &plain{room: room{bytes: 20_000, blocks: math.MaxInt}}
	now := 0.0
	ask := func(n int) {
		for range n {
			names := []uint64{dice.Uint64N(40)}
			for range 2 + dice.IntN(20) {
				names = append(names, names[0]+dice.Uint64N(2)) // two ways to go on, each time
			}
			p := text(names...)
			cached := engine.held(p.Blocks)
			engine.use(p.Blocks)
			serve(m, p, a, now, now+1, now+2, Found{OK: true, PromptTokens: int64(p.Bytes), CachedTokens: int64(cached)})
			now += 10
		}
	}
	ask(2000)
	if got := m.replicas["a"].limit; got < .8*20_000 || got > 1.5*20_000 {
		t.Errorf("a cache of 20000 tokens is taken for one of %v", got)
	}
	engine.room.bytes = 8_000
	ask(2000)
	if got := m.replicas["a"].limit; got < .7*8_000 || got > 1.5*8_000 {
		t.Errorf("a cache of 8000 tokens is taken for one of %v", got)
	}
	engine.room.bytes = 30_000
	ask(2000)
	if got := m.replicas["a"].limit; got < .7*30_000 || got > 1.5*30_000 {
		t.Errorf("a cache of 30000 tokens is taken for one of %v", got)
	}
}

// What an operator says of a cache is its limit.
func TestToldLimit(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	a := Spec{ID: "a", CacheTokens: 500}
	for i := range uint64(4) {
		serve(m, text(i, 2, 3), a, 0, 1, 2, silent)
	}
	for i, want := range []int64{0, 0, 200, 300} {
		m.Match(at(9), text(uint64(i), 2, 3))
		if got := m.Expect(at(9), a, "").Cached; got != want {
			t.Errorf("of prompt %d %d tokens are believed to be there, want %d", i, got, want)
		}
	}
}

// Bytes become tokens at the rate that engines count.
func TestTokensAreLearned(t *testing.T) {
	t.Parallel()
	m := NewModel(0)
	a := Spec{ID: "a"}
	for range 50 {
		serve(m, text(1, 2, 3, 4), a, 0, 1, 2, Found{OK: true, PromptTokens: 200, CachedTokens: -1})
	}
	m.Match(at(3), text(1, 2, 3, 4))
	near(t, "400 bytes of which 200 tokens were made", float64(m.Expect(at(3), a, "").Cached), 200)
}

func TestAdapters(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	a := Spec{ID: "a"}
	resident := func(adapter string) bool {
		m.Match(at(1), text(1))
		return m.Expect(at(1), a, adapter).Resident
	}
	for _, asked := range []string{"", "banana", "cherry", ""} {
		ticket := m.Send(at(1), a, Sent{Adapter: asked})
		m.Done(at(2), &ticket, silent)
		for _, adapter := range []string{"", "banana", "cherry"} {
			if got := resident(adapter); got != (adapter == asked) {
				t.Errorf("asked for %q last, %q is resident: %v", asked, adapter, got)
			}
		}
	}
}

// Demand is what came within the last minute.
func TestDemand(t *testing.T) {
	t.Parallel()
	m := NewModel(1)
	p := &Prompt{Bytes: 8000}
	for i := range 4000 {
		now := at(float64(i) / 4)
		m.Match(now, p)
		m.Expect(now, Spec{ID: "a"}, "")
		m.Expect(now, Spec{ID: "b"}, "")
		ticket := m.Send(now, Spec{ID: "a"}, Sent{Streams: true})
		if i%2 == 1 { // so that a has something to read half of the time
			m.Began(now, &ticket)
			m.Done(now, &ticket, silent)
		}
		if i%2 == 1 && i > 0 {
			m.replicas["a"].queue = queue{}
		}
	}
	d := m.Demand(2)
	near(t, "requests a second for each of two", d.Rate, 2)
	near(t, "busy", d.Busy, .25)
	m.Match(at(1000+1200), p)
	if d := m.Demand(2); d.Rate > .01 {
		t.Errorf("twenty minutes later it is still %v a second", d.Rate)
	}
}

// Whatever happens in whatever order: nothing panics, times are sane, and when
// all has ended nothing is left.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := NewModel(float64(rapid.IntRange(0, 5).Draw(t, "bytes")))
		ids := []string{"a", "b", "c"}
		var open []*Ticket
		now := start
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(-1, 5000).Draw(t, "ms")) * time.Millisecond)
			s := Spec{ID: rapid.SampledFrom(ids).Draw(t, "replica"), Slots: rapid.IntRange(0, 3).Draw(t, "slots"), CacheTokens: int64(rapid.IntRange(0, 1).Draw(t, "told")) * 200}
			which := 0
			if len(open) > 0 {
				which = rapid.IntRange(0, len(open)-1).Draw(t, "which")
			}
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what < 5:
				m.Match(now, text(rapid.SliceOfN(rapid.Uint64Range(0, 2), 0, 6).Draw(t, "prompt")...))
				ticket := m.Send(now, s, Sent{Streams: rapid.Bool().Draw(t, "streams")})
				open = append(open, &ticket)
			case what < 7 && len(open) > 0:
				m.Began(now, open[which])
			case what < 9 && len(open) > 0:
				m.Done(now, open[which], Found{
					OK: rapid.Bool().Draw(t, "ok"), PromptTokens: int64(rapid.IntRange(0, 600).Draw(t, "tokens")),
					CachedTokens: int64(rapid.IntRange(-1, 600).Draw(t, "cached")),
				})
			case what == 9:
				m.Retain(func(id string) bool { return id != s.ID })
			}
			sane(t, m, now, ids)
		}
		for _, ticket := range open {
			m.Done(now, ticket, Found{})
		}
		m.Match(now, text(1))
		for _, id := range ids {
			if e := m.Expect(now, Spec{ID: id}, ""); e.Outstanding != 0 || e.Wait != 0 {
				t.Fatalf("all has ended, and of %s is left %+v", id, e)
			}
		}
	})
}

func sane(t *rapid.T, m *Model, now time.Time, ids []string) {
	m.Match(now, text(1, 2))
	for _, id := range ids {
		e := m.Expect(now, Spec{ID: id}, "")
		if e.Wait < 0 || e.Work < 0 || e.Cached < 0 || e.Outstanding < 0 {
			t.Fatalf("%s is expected to be %+v", id, e)
		}
	}
	d := m.Demand(len(ids))
	if !(d.Rate >= 0) || !(d.Busy >= 0 && d.Busy <= 1) || m.Grain() < 0 {
		t.Fatalf("demand is %+v, the grain %v", d, m.Grain())
	}
}
