package fleetsim

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// Options are how a scenario is run. The zero value runs it to its last event
// and an hour beyond.
type Options struct {
	// For is how much virtual time is run. Zero: to the last event, and an hour.
	For time.Duration
	// Heal asks for what must hold once all that was broken is whole again: it
	// converges within [ConvergeWithin], and comes to rest. Load that goes on, or
	// weights that take minutes to fetch, are no place for it.
	Heal bool
	// FirstOnly ends the run at the first law that breaks.
	FirstOnly bool
	// Passed, when set, is told every pass of the control loop, in order. What it
	// is given is not changed later.
	Passed func(p Pass)
	// Reconciler is the policy that is run. The zero value is the default one.
	Reconciler reconciler.Reconciler
}

// Pass is one look of a control loop: what it looked at and remembered, what it
// wanted, what it remembers after that, and what became of it.
type Pass struct {
	Epoch   int64
	World   reconciler.World
	Memory  reconciler.Memory
	Plan    reconciler.Plan
	After   reconciler.Memory
	Outcome Outcome
}

// Outcome is what became of a plan, in the words of a journal.
type Outcome string

// The outcomes.
const (
	// Kept means that it is carried out.
	Kept Outcome = "kept"
	// Stale means that the fleet had changed meanwhile: nothing was carried out.
	Stale Outcome = "stale"
	// Failed means that the store did not keep it: nothing was carried out.
	Failed Outcome = "failed"
)

// Run runs a scenario. Equal scenarios, options and sources of chance give equal
// reports.
func Run(sc *Scenario, o Options, rng *rand.Rand) *Report {
	if o.For == 0 {
		o.For = sc.End() + time.Hour
	}
	s := &sim{
		sc: sc, o: o, rng: rng, now: Begin(), end: Begin().Add(o.For),
		agents: map[inventory.NodeID]*agent{}, entries: map[catalog.Name]catalog.Entry{},
		starts: map[catalog.Name]time.Duration{}, broken: map[catalog.Name]time.Time{},
		report: newReport(sc, o),
	}
	s.laws = newLaws(s)
	s.router = newRouter(s)
	s.populate()
	s.rows = &rows{}
	s.control = s.newControl(false)
	for i := range sc.events {
		e := &sc.events[i]
		s.at(Begin().Add(e.after), func() { s.happen(e) })
	}
	if o.Heal {
		s.expectHealing()
	}
	s.watchUse()
	s.run()
	s.report.close(s)
	return s.report
}

// sim is one run.
type sim struct {
	sc  *Scenario
	o   Options
	rng *rand.Rand

	now, end time.Time
	queue    queue
	seq      uint64
	over     bool

	// agents by node; order has them by id.
	agents map[inventory.NodeID]*agent
	order  []*agent

	// entries is what should be served, index the same for those who read it.
	entries map[catalog.Name]catalog.Entry
	index   *catalog.Index
	version uint64
	starts  map[catalog.Name]time.Duration
	// broken are models whose engines end at their start, and until when.
	broken map[catalog.Name]time.Time

	// rows is what is kept; control is the process that agents reach.
	rows    *rows
	control *control
	// old believes to lead still. Nil: there is none.
	old    *control
	router *router
	orders []reconciler.Order
	laws   *laws
	report *Report
}

// populate makes the agents, and the catalog as it is at the beginning.
func (s *sim) populate() {
	for _, n := range s.sc.fleet.Nodes() {
		a := newAgent(s, n)
		s.agents[n.ID] = a
		s.order = append(s.order, a)
		// They do not speak all at once.
		s.after(s.between(0, beatEvery), a.boot)
		s.report.Devices += len(n.Facts.Devices)
	}
	s.reindex()
	s.after(settled, func() {
		for i := range s.sc.models {
			s.define(&s.sc.models[i])
		}
	})
}

// settled is when the models are put in force: once the fleet has been heard of,
// so that a run does not begin with decisions on half of it.
const settled = 2 * beatEvery

// define puts a definition in force.
func (s *sim) define(d *definition) {
	old := s.entries[d.model.Name]
	s.entries[d.model.Name] = catalog.Entry{Revision: old.Revision + 1, Model: d.model}
	s.starts[d.model.Name] = d.startsIn()
	s.reindex()
}

func (s *sim) reindex() {
	s.version++
	var list []catalog.Entry
	for _, e := range s.entries {
		list = append(list, e)
	}
	s.index = catalog.NewIndex(s.version, list)
	s.wake()
}

// reach is the control plane that a message goes to: agents know the addresses of
// all, and take one that answers.
func (s *sim) reach() *control {
	if s.old != nil && s.old.isUp() && s.chance(strayed) {
		return s.old
	}
	return s.control
}

// strayed is the share of messages that go to a process that does not know yet
// that it no longer leads.
const strayed = 0.3

// wake lets the control plane look again soon.
func (s *sim) wake() {
	if s.control != nil {
		s.control.look()
	}
}

// moment is something that comes at a time.
type moment struct {
	at  int64 // nanoseconds since the beginning
	seq uint64
	do  func()
}

// queue has the earliest moment first, and of one time the one that was said
// first.
type queue []*moment

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].at == q[j].at {
		return q[i].seq < q[j].seq
	}
	return q[i].at < q[j].at
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is of heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(*moment)) }

// Pop is of heap.Interface.
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return last
}

func (s *sim) at(t time.Time, do func()) {
	if t.Before(s.now) {
		t = s.now
	}
	s.seq++
	heap.Push(&s.queue, &moment{at: int64(t.Sub(Begin())), seq: s.seq, do: do})
}

func (s *sim) after(d time.Duration, do func()) { s.at(s.now.Add(d), do) }

// run takes one moment after the other until the time is over.
func (s *sim) run() {
	for len(s.queue) > 0 && !s.over {
		m := heap.Pop(&s.queue).(*moment)
		at := Begin().Add(time.Duration(m.at))
		if at.After(s.end) {
			break
		}
		s.now = at
		m.do()
	}
	if !s.over {
		s.now = s.end
	}
}

// some are the agents that a word of an event names, in order; a share is drawn.
func (s *sim) some(on string) []*agent {
	if f, ok := share(on); ok {
		n := int(f*float64(len(s.order)) + 0.5)
		picked := slices.Clone(s.rng.Perm(len(s.order))[:n])
		slices.Sort(picked)
		out := make([]*agent, n)
		for i, at := range picked {
			out[i] = s.order[at]
		}
		return out
	}
	var out []*agent
	for _, id := range named(s.sc.fleet, on) {
		out = append(out, s.agents[id])
	}
	return out
}
