package reconciler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// What an estimate takes where nothing was measured.
const (
	// EstimatedStart is how long a start takes of a model that was never seen
	// to become ready.
	EstimatedStart = 2 * time.Minute
	// EstimatedDrain is how long requests take to end.
	EstimatedDrain = 30 * time.Second
)

// HoldPlan is what carrying out a place would do.
type HoldPlan struct {
	// Models are those with a replica there, in the order in which they go.
	Models []HoldModel
	// Shortfall are sentences about what fits nowhere else.
	Shortfall []string
	// Lasts is an estimate: class after class, the slowest start of each.
	Lasts time.Duration
}

// HoldModel is one model with replicas in the place.
type HoldModel struct {
	Model catalog.Name
	Class catalog.Class
	// Ready is how many replicas are ready in all, Floor how many people want at
	// least.
	Ready, Floor int
	Moves        []Move
}

// Move is one replica that is replaced elsewhere.
type Move struct {
	Replica  ReplicaID
	From, To []inventory.NodeID
	// Profile is what the replacement would run as. Empty, with To: nothing fits.
	Profile string
}

// PlanHold says what a hold would do if it carried out its place: the same
// placer, asked for one replacement after the other on copies of the fleet, in
// the order in which Step would go. It knows neither preemption nor moves, so it may
// say that nothing fits where Step would make room, and says nothing of who would
// give way: placement/dryrun plays Step itself out, and is right where the two
// differ. Only this one knows order and time. Other holds count as they are at the time at
// which this one begins. c nil: nothing is known from before.
func (r Reconciler) PlanHold(v *View, h inventory.Hold, now time.Time, c *Cache) HoldPlan {
	at := h.From
	if at.Before(now) {
		at = now
	}
	h.From, h.Until = at, time.Time{}
	others := slices.DeleteFunc(slices.Clone(v.Fleet.Holds()), func(o inventory.Hold) bool { return o.Domain == h.Domain })
	s := r.lookAt(v, c)
	p := &holdPlanner{step: s, view: v, hold: h, fleet: s.fleet.WithHolds(append(others, h), at)}
	p.ground = s.cache.ground(s.placer, p.fleet)
	for i := range v.Replicas {
		p.add(&v.Replicas[i])
	}
	// Room goes to the highest class first, though the lowest moves first.
	slices.SortFunc(p.models, func(a, b *heldModel) int {
		return cmp.Or(cmp.Compare(b.Class.Rank(), a.Class.Rank()), cmp.Compare(a.Model, b.Model))
	})
	for _, m := range p.models {
		p.move(m)
	}
	slices.SortFunc(p.models, func(a, b *heldModel) int {
		return cmp.Or(cmp.Compare(a.Class.Rank(), b.Class.Rank()), cmp.Compare(a.Model, b.Model))
	})
	var out HoldPlan
	slowest := map[int]time.Duration{}
	for _, m := range p.models {
		out.Shortfall = append(out.Shortfall, m.short...)
		out.Models = append(out.Models, m.HoldModel)
		slowest[m.Class.Rank()] = max(slowest[m.Class.Rank()], m.start(v)+EstimatedDrain)
	}
	for _, d := range slowest {
		out.Lasts += d
	}
	return out
}

// holdPlanner is one call of PlanHold at work.
type holdPlanner struct {
	step   *step
	ground ground
	view   *View
	hold   inventory.Hold
	fleet  *inventory.Snapshot
	models []*heldModel
}

type heldModel struct {
	HoldModel
	entry catalog.Entry
	there []*Replica
	short []string
}

// add notes a replica that stands in the place.
func (p *holdPlanner) add(r *Replica) {
	inside := slices.ContainsFunc(r.Shards, func(s Shard) bool {
		n := p.fleet.Node(s.Spot.Node)
		return n != nil && p.hold.Domain.Holds(n)
	})
	entry, known := p.view.Catalog.Get(r.Model)
	if !inside || r.Phase != Run || !known {
		return
	}
	i := slices.IndexFunc(p.models, func(m *heldModel) bool { return m.Model == r.Model })
	if i < 0 {
		i = len(p.models)
		floor, _ := entry.Model.Bounds()
		p.models = append(p.models, &heldModel{entry: *entry, HoldModel: HoldModel{
			Model: r.Model, Class: entry.Model.Class, Ready: p.view.Health[r.Model].Ready, Floor: floor,
		}})
	}
	p.models[i].there = append(p.models[i].there, r)
}

// move finds room for the replacements of one model, and says what finds none.
func (p *holdPlanner) move(m *heldModel) {
	left, full := m.Ready, false
	var trace placement.Trace
	for _, r := range m.there {
		move := Move{Replica: r.ID}
		for _, s := range r.Shards {
			move.From = append(move.From, s.Spot.Node)
		}
		var d placement.Decision
		if !full { // where one fits nowhere, the next does not either
			d, trace = p.ground.Explain(p.step.viewed(p.view, &m.entry.Model))
		}
		if full = !d.Placed; !full {
			move.Profile = d.Candidate.Profile
			p.ground.With(expected(r, d.Candidate)...)
			for _, spot := range d.Candidate.Spots {
				move.To = append(move.To, spot.Node)
			}
		} else {
			left--
			m.short = append(m.short, shortfall(m, r, trace, left))
		}
		m.Moves = append(m.Moves, move)
	}
}

func shortfall(m *heldModel, r *Replica, trace placement.Trace, left int) string {
	why := make([]string, len(trace.Profiles))
	for i, p := range trace.Profiles {
		why[i] = fmt.Sprintf(" (as %s %s)", p.Profile, p)
	}
	text := fmt.Sprintf("Replica %s fits nowhere else%s; it would be stopped after %s.", r.ID, strings.Join(why, ""), NodeDrainTimeout)
	if left = max(0, left); left < m.Floor {
		text += fmt.Sprintf(" Model %s would have %d ready, and %d are wanted at least.", m.Model, left, m.Floor)
	}
	return text
}

// start is how long the model's replicas took to become ready, the slowest.
func (m *heldModel) start(v *View) time.Duration {
	slowest := time.Duration(0)
	for _, r := range v.Of(m.Model) {
		if !r.ReadyAt.IsZero() {
			slowest = max(slowest, r.ReadyAt.Sub(r.CreatedAt))
		}
	}
	if slowest == 0 {
		return EstimatedStart
	}
	return slowest
}
