package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// The rule of preemption. A request that found no room may have that of replicas
// of strictly lower classes, never of its own class or a higher one, and never
// more of a model than its floor leaves. Of all sets that make room, the one is
// taken that does least harm: the lowest classes first, then the least
// device-seconds lost until they are back (what a replica has in devices, times how
// long it takes to have it again), then the fewest replicas. Whether it really
// makes room is not estimated: Choose says so on a copy without them.

// Occupant is a replica that stands somewhere, as Preempt weighs it.
type Occupant struct {
	Replica string
	Model   catalog.Name
	Class   catalog.Class
	// Seconds is how long it takes to have it back: its load, and what it has
	// been loading already. Less than one counts as one.
	Seconds float64
}

// Spared is why a replica is not stopped for a request. The list is closed.
type Spared string

// The reasons, in the order in which they are listed to people.
const (
	SparedClass  Spared = "class"
	SparedFloor  Spared = "floor"
	SparedNoRoom Spared = "no_room"
	SparedHarm   Spared = "more_harm"
)

var spared = []struct {
	reason Spared
	text   string
}{
	{SparedClass, "of no lower class"},
	{SparedFloor, "at the floor of their model"},
	{SparedNoRoom, "make no room"},
	{SparedHarm, "would be more harm"},
}

// Preemption is which replicas would make room for a request, and why the others
// would not: Looked = the victims + the sum of Counts.
type Preemption struct {
	// Decision is where the request goes once the victims are gone. Not placed:
	// no allowed set of replicas makes room.
	Decision Decision
	// Victims are in order of id.
	Victims []Occupant
	// Harm is what they lose, in device-seconds.
	Harm   float64
	Looked int
	Counts map[Spared]int
}

// String is one line: "of 5 replicas 2 give way; 3 are of no lower class".
func (p Preemption) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "of %d replicas %d give way", p.Looked, len(p.Victims))
	sign := "; "
	for _, s := range spared {
		if n := p.Counts[s.reason]; n > 0 {
			fmt.Fprintf(&b, "%s%d %s", sign, n, s.text)
			sign = ", "
		}
	}
	return b.String()
}

// Preempt finds which replicas would make room for a request that finds none.
// floors are how many of a model's replicas among standing must stay; a model
// that is not named has none. The world stays as it is.
func (p Placer) Preempt(world *inventory.Snapshot, req Request, standing []Occupant, floors map[catalog.Name]int) Preemption {
	x := NewIndex(p)
	x.Advance(world)
	return x.Preempt(req, standing, floors)
}

// Preempt is the placer's Preempt on what the index knows. It is afterwards what
// it was.
func (x *Index) Preempt(req Request, standing []Occupant, floors map[catalog.Name]int) (out Preemption) {
	x.Try(func() { out = x.Preempter(req, standing, floors).Next() })
	return out
}

// Preempter finds room for several replicas of a model, one after the other. It
// belongs to its index, and holds until that advances.
type Preempter struct {
	standing []Occupant
	e        *eviction
}

// Preempter begins to ask as Preempt does.
func (x *Index) Preempter(req Request, standing []Occupant, floors map[catalog.Name]int) *Preempter {
	return &Preempter{standing: slices.Clone(standing), e: newEviction(x, req, standing, floors)}
}

// Next is who gives way for one more replica. They leave the index with it; what
// is placed in their room is the caller's to add.
func (p *Preempter) Next() Preemption {
	e := p.e
	p.standing = slices.DeleteFunc(p.standing, func(o Occupant) bool { return e.taken[o.Replica] })
	out := Preemption{Looked: len(p.standing), Counts: map[Spared]int{}}
	for rank := range e.req.Model.Class.Rank() {
		if f := e.least(rank); f != nil {
			out.Decision, out.Harm = f.decision, f.harm
			for _, i := range f.set {
				out.Victims = append(out.Victims, e.able[i].Occupant)
			}
			slices.SortFunc(out.Victims, func(a, b Occupant) int { return cmp.Compare(a.Replica, b.Replica) })
			e.take(f.set)
			break
		}
	}
	for i := range p.standing {
		if reason := e.spares(&p.standing[i], &out); reason != "" {
			out.Counts[reason]++
		}
	}
	return out
}

// spares says why a replica stays; empty for a victim.
func (e *eviction) spares(o *Occupant, p *Preemption) Spared {
	switch {
	case e.taken[o.Replica]:
		return ""
	case !e.below(o):
		return SparedClass
	case e.allowed[o.Model] <= 0:
		return SparedFloor
	case !p.Decision.Placed:
		return SparedNoRoom
	}
	return SparedHarm
}
