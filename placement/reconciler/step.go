package reconciler

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// step is one call of Step at work. It changes copies only.
type step struct {
	placer placement.Placer
	floor  func(m *catalog.Model) int
	moves  float64
	w      World
	now    time.Time
	cache  *Cache
	nodes  []*inventory.Node // the world's
	// fleet has room taken for everything that is ordered.
	fleet *inventory.Snapshot
	// ground is the same with what this step places and keeps.
	ground ground
	next   int64
	mem    Memory
	groups []*group // highest class first, then who gave way, then by name
	plan   Plan
	// released: a person asked for the brake to be released. braked: it is set.
	released, braked bool
	// out is the rank of the class whose turn it is to leave held places.
	out int
}

// group is one model with its replicas.
type group struct {
	name catalog.Name
	// entry is nil when the model is no longer in the catalog.
	entry *catalog.Entry
	// units are by id; own of them are the world's, and what the step places
	// comes last.
	units  []*unit
	own    int
	mem    ModelMemory
	target target
	// refused says that the step looked for room and found none.
	refused bool
	// paced says that its pace was looked at in this step.
	paced bool
	// waits says that it is short and must not start anything yet.
	waits bool
	// coming is for how many of what is short room is kept.
	coming int
	trace  *placement.Trace
	// health is the place of what was told of it, once told.
	health int
	told   bool
}

// unit is one replica, as it will be after the step.
type unit struct {
	// Replica is the world's until edit makes it the step's own.
	*Replica
	mine bool
	// homes are the numbers of its shards' nodes; see Cache.
	homes []int32
	// held says that the fleet shows the room of all its shards.
	held  bool
	state ReplicaState
	// away: its node is lost, or came back and has not said yet what it runs
	// while another replica was ordered in its place.
	away bool
	// kept: it is lost and holds its place, since the brake is set.
	kept bool
	// leaving: it stays until another one is ready, then it goes.
	leaving bool
	// yieldsTo is the model whose room it is to be. Empty: none.
	yieldsTo catalog.Name

	isNew, changed, gone bool
	why                  string
	versions             []uint64
}

func newStep(r Reconciler, w World, m Memory) *step {
	if r.Floor == nil {
		r.Floor = CriticalMinimum
	}
	if w.Catalog == nil {
		w.Catalog = catalog.NewIndex(0, nil)
	}
	if w.Fleet == nil {
		w.Fleet = inventory.NewSnapshot(0, nil)
	}
	if m.Cache == nil {
		m.Cache = &Cache{}
	}
	s := &step{placer: r.Placer, floor: r.Floor, moves: r.Moves, w: w, now: w.Now, mem: m, next: max(1, m.Next), cache: m.Cache}
	s.plan.OrdersDone = len(w.Orders)
	s.cache.told = s.cache.told[:0]
	s.makeGroups()
	s.see()
	s.mixUp()
	s.ground = s.cache.ground(s.placer, s.fleet)
	if r.ground != nil {
		s.ground = r.ground(s.placer, s.fleet)
	}
	return s
}

// turn orders groups as they get room: the highest class first, and of one class
// who gave way before.
func turn(a, b *group) int {
	return cmp.Or(cmp.Compare(b.rank(), a.rank()), order(a.mem.Preempted > 0, b.mem.Preempted > 0), cmp.Compare(a.name, b.name))
}

// rank is the class's; a model that is gone asks for nothing, so it is last.
func (g *group) rank() int {
	if g.entry == nil {
		return -1
	}
	return g.entry.Model.Class.Rank()
}

func holds(n *inventory.Node, shard string) bool {
	_, ok := slices.BinarySearchFunc(n.Allocations, shard, func(a inventory.Allocation, id string) int {
		return cmp.Compare(a.Shard, id)
	})
	return ok
}

// running counts the units that are wanted running, but for those in want of a
// node or on their way out: what counts against the target.
func (g *group) running() int {
	n := 0
	for _, u := range g.units {
		if u.counts() {
			n++
		}
	}
	return n
}

// counts reports whether the unit counts against the target. One that restarts
// in place keeps its place until it is gone.
func (u *unit) counts() bool {
	if u.gone {
		return false
	}
	return (u.Phase == Run && !u.away && !u.leaving) || (u.Phase != Run && u.Restart == InPlace)
}

func (u *unit) live() bool { return u.Phase == Run && !u.gone }

func (u *unit) ready() bool { return u.live() && !u.away && u.state == StateReady }

// edit is the unit's replica to be changed: the step's own copy.
func (u *unit) edit() *Replica {
	if !u.mine {
		r := *u.Replica
		u.Replica, u.mine = &r, true
	}
	return u.Replica
}

// change marks the unit to be written, with the sentence why.
func (u *unit) change(why string) {
	u.changed = true
	if u.why == "" {
		u.why = why
	}
}

// enter moves the unit to a later phase. A restart that was asked for is over
// with that, whatever the reason; restart notes it again for its own.
func (u *unit) enter(p Phase, now time.Time, why string) {
	if u.Phase == Run {
		u.edit().Restart = NoRestart
	}
	r := u.edit()
	r.Phase, r.PhaseSince, r.DrainBy, r.Why = p, now, time.Time{}, why
	u.changed, u.why = true, why
}

// event adds an event about a unit; u nil tells of the model only.
func (s *step) event(kind EventKind, g *group, u *unit, node inventory.NodeID, text string) {
	e := Event{At: s.now, Kind: kind, Model: string(g.name), Node: string(node), Text: text}
	if u != nil {
		e.Replica = u.ID
	}
	s.plan.Events = append(s.plan.Events, e)
}

// wake asks for another look at t, when that is ahead.
func (s *step) wake(t time.Time) {
	if t.After(s.now) && (s.plan.WakeAt.IsZero() || t.Before(s.plan.WakeAt)) {
		s.plan.WakeAt = t
	}
}

// result turns what became of the units into actions, and of the groups into
// the next memory.
func (s *step) result() (Plan, Memory) {
	for _, g := range s.groups {
		for _, u := range g.units {
			if a, ok := u.action(); ok {
				s.plan.Actions = append(s.plan.Actions, a)
			}
		}
	}
	s.plan.Health = s.cache.healthOf(s.groups)
	next := s.mem
	next.Next, next.Models, next.Sought = s.next, s.remembered(), s.stillSought()
	return s.plan, next
}

// remembered is what is to be remembered of the models. The map is that of the
// step before while nothing in it is another.
func (s *step) remembered() map[catalog.Name]ModelMemory {
	n, same := 0, true
	for _, g := range s.groups {
		if g.entry == nil || g.mem.isZero() {
			continue
		}
		n++
		if same {
			was, had := s.mem.Models[g.name]
			same = had && reflect.DeepEqual(&was, &g.mem)
		}
	}
	if same && n == len(s.mem.Models) && s.mem.Models != nil {
		return s.mem.Models
	}
	out := make(map[catalog.Name]ModelMemory, n)
	for _, g := range s.groups {
		if g.entry != nil && !g.mem.isZero() {
			out[g.name] = g.mem
		}
	}
	return out
}

func (u *unit) action() (Action, bool) {
	kind := Update
	switch {
	case u.gone && u.isNew, !u.gone && !u.isNew && !u.changed:
		return Action{}, false
	case u.gone:
		kind = Forget
	case u.isNew:
		kind = Place
	}
	return Action{Kind: kind, Replica: *u.Replica, Why: u.why, Versions: u.versions}, true
}

func (m ModelMemory) isZero() bool {
	return m.Failures == 0 && m.RetryAt.IsZero() && !m.Parked && m.Reason == "" && m.Cause == "" &&
		len(m.LastLines) == 0 && m.Revision == 0 && len(m.FailedOn) == 0 && !m.Unplaceable && len(m.Lost) == 0 &&
		m.Preempted == 0 && m.Halted == "" && len(m.Moved) == 0 && m.Former == nil && len(m.Pace) == 0
}

// clone returns a map of the step's own before it is written to.
func clone[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}
