package reconciler

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
)

// takeOrders notes what people ask for. Orders about what is not there are
// taken and come to nothing.
func (s *step) takeOrders() {
	for _, o := range s.w.Orders {
		if o.Retry != "" {
			s.retry(o.Retry)
		}
		if o.ReleaseBrake {
			s.released = true
		}
		if o.Restart == "" || o.Mode == NoRestart {
			continue
		}
		if u := s.unit(o.Restart); u != nil && u.live() && u.Restart != o.Mode {
			u.edit().Restart = o.Mode
			u.change("A restart was asked for.")
			if g := s.group(u.Model); o.Mode.rolls() {
				g.mem.stayNew()
			}
		}
	}
}

func (s *step) group(name catalog.Name) *group {
	return s.cache.byName[name]
}

func (s *step) unit(id ReplicaID) *unit {
	for _, g := range s.groups {
		for _, u := range g.units {
			if u.ID == id {
				return u
			}
		}
	}
	return nil
}

// restart lets the replicas of a model that are to be restarted go one after
// the other, so that an order for all of them takes few down at once.
func (s *step) restart(g *group) {
	s.goOn(g)
	for _, u := range []*unit{g.nextReplace(), s.nextRollout(g), g.waitsOn()} {
		if u != nil {
			u.leaving = true
			break
		}
	}
	u := g.nextInPlace()
	switch {
	case u == nil || g.running() > g.target.n:
		// One too many goes first, and that may be the very one.
	case g.mem.Parked:
		g.clamp("Replica %s is not restarted in place while the model is parked: it might not start again. Retry the model first.", u.ID)
	default:
		s.retire(u, "restarted in place, as asked")
		u.edit().Restart = InPlace
	}
}

// nextReplace is the replica whose replacement is looked for or under way. The
// one that has a replacement is finished before another begins.
func (g *group) nextReplace() *unit {
	var first *unit
	for _, u := range g.units {
		if !u.live() || u.kept || u.Restart != Replace {
			continue
		}
		if g.replacementOf(u.ID) != nil {
			return u
		}
		if first == nil {
			first = u
		}
	}
	return first
}

// nextInPlace is the replica to stop now: the first in the queue, once the one
// before it is gone and all others are ready.
func (g *group) nextInPlace() *unit {
	going := slices.ContainsFunc(g.units, func(u *unit) bool { return u.Phase != Run && u.Restart == InPlace })
	if going {
		return nil
	}
	i := slices.IndexFunc(g.units, func(u *unit) bool { return u.live() && !u.away && !u.kept && u.Restart == InPlace })
	if i < 0 {
		return nil
	}
	for _, o := range g.units {
		if o != g.units[i] && o.live() && !o.ready() {
			return nil
		}
	}
	return g.units[i]
}

// clamp adds a sentence, once, about why things are not as asked for.
func (g *group) clamp(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(g.target.clamps, text) {
		g.target.clamps = append(g.target.clamps, text)
	}
}
