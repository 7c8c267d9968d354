package reconciler

import (
	"cmp"
	"maps"
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
	w      World
	now    time.Time
	// fleet has room taken for everything that is ordered, and for what this
	// step places.
	fleet *inventory.Snapshot
	// index is made when it is first asked for: see indexed.
	index  *placement.Index
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
	entry  *catalog.Entry
	units  []*unit // by id; what the step places comes last
	mem    ModelMemory
	target target
	// refused says that the step looked for room and found none.
	refused bool
	// waits says that it is short and must not start anything yet.
	waits bool
	// coming is for how many of what is short room is kept.
	coming int
	trace  *placement.Trace
}

// unit is one replica, as it will be after the step.
type unit struct {
	Replica
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
	s := &step{placer: r.Placer, floor: r.Floor, w: w, now: w.Now, mem: m, next: max(1, m.Next)}
	s.plan.OrdersDone = len(w.Orders)
	s.plan.Health = map[catalog.Name]ModelHealth{}
	s.plan.Traces = map[catalog.Name]placement.Trace{}
	s.fleet = withOrdered(w.Fleet, w.Replicas)
	s.makeGroups()
	s.out = s.outTurn()
	s.keepRoom()
	return s
}

// makeGroups sorts everything that is known by model: definitions, replicas of
// removed ones too, and what is remembered.
func (s *step) makeGroups() {
	entries := s.w.Catalog.Entries()
	byName := make(map[catalog.Name]*group, len(entries))
	get := func(name catalog.Name) *group {
		g := byName[name]
		if g == nil {
			g = &group{name: name, mem: s.mem.Models[name]}
			byName[name] = g
			s.groups = append(s.groups, g)
		}
		return g
	}
	for i := range entries {
		get(entries[i].Model.Name).entry = &entries[i]
	}
	units := make([]unit, len(s.w.Replicas))
	for i, r := range s.w.Replicas {
		units[i].Replica = r
		g := get(r.Model)
		g.units = append(g.units, &units[i])
	}
	slices.SortFunc(s.groups, func(a, b *group) int {
		// Of one class, who gave way before is the first to get room.
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), order(a.mem.Preempted > 0, b.mem.Preempted > 0), cmp.Compare(a.name, b.name))
	})
}

// rank is the class's; a model that is gone asks for nothing, so it is last.
func (g *group) rank() int {
	if g.entry == nil {
		return -1
	}
	return g.entry.Model.Class.Rank()
}

// withOrdered takes the room of everything that is ordered, where the fleet
// does not show it yet, so that nothing is ever placed over it.
func withOrdered(fleet *inventory.Snapshot, replicas []Replica) *inventory.Snapshot {
	var missing []inventory.Allocation
	for i := range replicas {
		for _, sh := range replicas[i].Shards {
			if n := fleet.Node(sh.Spot.Node); n != nil && !holds(n, sh.Spot.Shard) {
				missing = append(missing, sh.Spot)
			}
		}
	}
	if len(missing) == 0 {
		return fleet
	}
	return fleet.With(missing...)
}

func holds(n *inventory.Node, shard string) bool {
	_, ok := slices.BinarySearchFunc(n.Allocations, shard, func(a inventory.Allocation, id string) int {
		return cmp.Compare(a.Shard, id)
	})
	return ok
}

// running are the units that are wanted running, but for those in want of a
// node or on their way out: what counts against the target.
func (g *group) running() []*unit {
	var out []*unit
	for _, u := range g.units {
		if u.counts() {
			out = append(out, u)
		}
	}
	return out
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
		u.Restart = NoRestart
	}
	u.Phase, u.PhaseSince, u.DrainBy, u.Why = p, now, time.Time{}, why
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
	next := Memory{Next: s.next, Models: map[catalog.Name]ModelMemory{}, Orphans: s.mem.Orphans, Brake: s.mem.Brake}
	for _, g := range s.groups {
		for _, u := range g.units {
			if a, ok := u.action(); ok {
				s.plan.Actions = append(s.plan.Actions, a)
			}
		}
		if g.entry != nil && !g.mem.isZero() {
			next.Models[g.name] = g.mem
		}
	}
	return s.plan, next
}

func (u *unit) action() (Action, bool) {
	a := Action{Replica: u.Replica, Why: u.why, Versions: u.versions}
	switch {
	case u.gone && u.isNew:
		return Action{}, false
	case u.gone:
		a.Kind = Forget
	case u.isNew:
		a.Kind = Place
	case u.changed:
		a.Kind = Update
	default:
		return Action{}, false
	}
	return a, true
}

func (m ModelMemory) isZero() bool {
	return m.Failures == 0 && m.RetryAt.IsZero() && !m.Parked && m.Reason == "" && m.Cause == "" &&
		len(m.LastLines) == 0 && m.Revision == 0 && len(m.FailedOn) == 0 && !m.Unplaceable && len(m.Lost) == 0 &&
		m.Preempted == 0 && m.Halted == ""
}

// clone returns a map of the step's own before it is written to.
func clone[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}
