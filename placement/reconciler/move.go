package reconciler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// The rule of moves. A replica that fits elsewhere may go there, so that one that
// was refused fits where it stood (placement's Rearrange says which):
//
//   - Only where people allow it, and at most so many percent of the replicas in
//     an hour. A new control plane remembers which were moved.
//   - Only for what neither free room nor room that comes can hold, and no lower
//     class can make room for.
//   - Its replacement starts first, at once and where the search has put it. It is
//     drained when that is ready, and the room is kept meanwhile.
//   - Only those move that are ready, of the definition in force and of no higher
//     class, whose model starts well. None that stands on a node that is held,
//     cordoned or draining, or that is restarted already.
//   - A move whose replacement is gone is over. None begins under the brake.
const (
	// MoveWindow is the time in which Reconciler.Moves counts.
	MoveWindow = time.Hour
	// MoveRetry is how long a search that found nothing is not repeated.
	MoveRetry = time.Minute
	// MovesAtOnce is how many replicas may move for one that was refused.
	MovesAtOnce = 8
)

// rearrange lets others move for what is refused still.
func (s *step) rearrange(g *group) {
	if s.moves <= 0 || s.braked || !g.refused || g.waits || g.mem.Parked || g.entry == nil {
		s.sought(g, false)
		return
	}
	for s.shortage(g) > g.coming && s.maySeek(g) {
		if !s.moveFor(g) {
			s.sought(g, true)
			return
		}
	}
}

// sought notes whether a search for a model was in vain just now.
func (s *step) sought(g *group, inVain bool) {
	if _, noted := s.mem.Sought[g.name]; noted == inVain {
		return
	}
	s.mem.Sought = clone(s.mem.Sought)
	if delete(s.mem.Sought, g.name); inVain {
		s.mem.Sought[g.name] = s.now
		s.wake(s.now.Add(MoveRetry))
	}
}

// stillSought leaves out models that are gone.
func (s *step) stillSought() map[catalog.Name]time.Time {
	for name := range s.mem.Sought {
		if s.group(name) == nil {
			s.mem.Sought = clone(s.mem.Sought)
			delete(s.mem.Sought, name)
		}
	}
	return s.mem.Sought
}

// maySeek reports whether a search is allowed and due, and says so when the
// hour's moves are used up.
func (s *step) maySeek(g *group) bool {
	if at, noted := s.mem.Sought[g.name]; noted {
		if again := at.Add(MoveRetry); s.now.Before(again) {
			s.wake(again)
			return false
		}
		s.sought(g, false)
	}
	left, most, next := s.movesLeft()
	if left > 0 {
		return true
	}
	text := fmt.Sprintf("No replica moves to make room: %d may in an hour, which is %g %% of all", most, s.moves)
	if next.After(s.now) {
		text += fmt.Sprintf("; the next may at %s", next.UTC().Format("15:04 UTC"))
		s.wake(next)
	}
	g.clamp("%s.", text)
	return false
}

// movesLeft is how many replicas may still move, of how many in an hour, and when
// the next may if none may now.
func (s *step) movesLeft() (left, most int, next time.Time) {
	all, used := 0, 0
	for _, g := range s.groups {
		for _, u := range g.units {
			if u.live() {
				all++
			}
		}
		for _, at := range g.mem.Moved {
			if free := at.Add(MoveWindow); s.now.Before(free) {
				if used++; next.IsZero() || free.Before(next) {
					next = free
				}
			}
		}
	}
	most = int(s.moves / 100 * float64(all))
	return max(0, most-used), most, next
}

// moveFor orders moves that make room for one replica of a model, and keeps that
// room; false when there are none.
func (s *step) moveFor(g *group) bool {
	left, _, _ := s.movesLeft()
	residents := s.residents(g)
	var d placement.Decision
	var moves []placement.Move
	for _, req := range s.requests(g) {
		s.ground.try(func(x *placement.Index) { d, moves = x.Rearrange(req, residents, min(left, MovesAtOnce)) })
		if d.Placed {
			break
		}
	}
	if !d.Placed || len(moves) == 0 {
		return false
	}
	for _, m := range moves {
		s.move(g, s.unit(ReplicaID(m.Replica)), m.To)
	}
	g.coming++
	s.ground.With(comingRoom(g, d.Candidate)...)
	return true
}

// comingRoom is the room that is kept for the next replica of a model.
func comingRoom(g *group, c placement.Candidate) []inventory.Allocation {
	return c.Allocations(string(g.name), fmt.Sprintf("%s/coming-%d", g.name, g.coming))
}

// move starts a replica's replacement where it is to go.
func (s *step) move(forModel *group, u *unit, to placement.Candidate) {
	g := s.group(u.Model)
	u.edit().Restart = Moving
	u.change(fmt.Sprintf("It moves to make room for model %s.", forModel.name))
	p := s.order(g, &g.entry.Model, to, u.ID, fmt.Sprintf("It takes over from %s, which makes room for model %s.", u.ID, forModel.name))
	g.mem.Moved = append(slices.Clone(g.mem.Moved), s.now)
	s.event(EventMoved, g, u, u.leadNode(), fmt.Sprintf(
		"Replica %s moves from %s to %s, to make room for model %s.", u.ID, names(u.nodes()), names(p.nodes()), forModel.name))
	if g.told {
		// It was counted before.
		_, s.cache.told[g.health].Total = g.count()
	}
}

func names(nodes []inventory.NodeID) string {
	out := make([]string, len(nodes))
	for i, id := range nodes {
		out[i] = string(id)
	}
	return strings.Join(out, ", ")
}

// residents are the replicas that may move for a model.
func (s *step) residents(g *group) []placement.Resident {
	var out []placement.Resident
	for _, o := range s.groups {
		if o == g || o.entry == nil || o.rank() > g.rank() || o.mem.Failures > 0 || o.mem.Parked || s.now.Before(o.mem.RetryAt) {
			continue
		}
		prints := map[string]string{}
		for _, u := range o.units {
			if s.settled(o, u) && o.fresh(u, prints) {
				out = append(out, placement.Resident{
					Replica: string(u.ID), Model: &o.entry.Model, Nodes: u.nodes(), Apart: s.w.Catalog.Apart(o.name), Speeds: s.cache.speeds(o.name, o.mem.Pace),
				})
			}
		}
	}
	return out
}

// settled reports whether a replica does well, where it may stay.
func (s *step) settled(g *group, u *unit) bool {
	if u.isNew || !u.ready() || u.leaving || u.kept || u.yieldsTo != "" || u.Restart != NoRestart || !u.DrainBy.IsZero() ||
		g.replacementOf(u.ID) != nil || g.find(u.Replaces) != nil {
		return false
	}
	for i := range u.Shards {
		if n := s.home(u, i); n == nil || n.State() != inventory.StateReady || n.Held.Yes() {
			return false
		}
	}
	return true
}

// fresh is the opposite of stale, with the fingerprints of the model's profiles
// remembered.
func (g *group) fresh(u *unit, prints map[string]string) bool {
	now, known := prints[u.Profile.Name]
	if !known {
		i := slices.IndexFunc(g.entry.Model.Profiles, func(p catalog.Profile) bool { return p.Name == u.Profile.Name })
		if i < 0 {
			return false
		}
		now = catalog.Fingerprint(&g.entry.Model, &g.entry.Model.Profiles[i])
		prints[u.Profile.Name] = now
	}
	return u.Fingerprint == now || !g.stale(u)
}

// goOn carries on with moves: who has a replacement leaves, and who has none any
// more stays.
func (s *step) goOn(g *group) {
	for _, u := range g.units {
		if !u.live() || u.Restart != Moving {
			continue
		}
		if u.leaving = g.replacementOf(u.ID) != nil; !u.leaving {
			u.edit().Restart = NoRestart
			u.change("It stays where it is, since nothing runs in its place.")
		}
	}
}

// moving reports whether a replica is on its way to another place.
func (g *group) moving(u *unit) bool {
	return u.Restart == Moving && u.live() && g.replacementOf(u.ID) != nil
}

// tellMoves says who makes room.
func (g *group) tellMoves(h *ModelHealth) {
	for _, u := range g.units {
		if g.moving(u) {
			h.Clamps = append(h.Clamps, fmt.Sprintf("Replica %s moves, so that another model has room; it serves until its replacement is ready.", u.ID))
		}
	}
}

// forgetMoves forgets the moves that do not count any more.
func (g *group) forgetMoves(now time.Time) {
	i := 0
	for i < len(g.mem.Moved) && !now.Before(g.mem.Moved[i].Add(MoveWindow)) {
		i++
	}
	if i > 0 {
		g.mem.Moved = slices.Clone(g.mem.Moved[i:])
	}
}
