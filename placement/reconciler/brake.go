package reconciler

import (
	"fmt"
	"slices"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// The rule of the brake. When a large part of the fleet goes silent at once, the
// network is more likely at fault than the machines, and engines that nobody
// hears serve on. So what is lost is neither replaced nor given up then:
//
//   - It is set when at least BrakeNodes nodes, and BrakePercent of those that
//     were heard, went silent within BrakeWindow. Silence counts from
//     unreachable on, which is before anything is replaced.
//   - While it is set, lost replicas hold their place. Whatever else is wanted
//     is placed on nodes that are heard: new models, more demand, failures.
//   - It is released when half of the silent nodes are back and the others had
//     BrakeSettle to follow, by a person, or after BrakeLimit.
//
// It is not kept. A new control plane has heard nobody yet: nodes that hold
// replicas and stay away until they are lost are lost at once, and set it again.
const (
	BrakePercent = 20
	BrakeNodes   = 3
	BrakeWindow  = time.Minute
	BrakeSettle  = time.Minute
	BrakeLimit   = 30 * time.Minute
)

// Brake says that lost replicas are not replaced for now. The zero value means
// that they are.
type Brake struct {
	Since time.Time
	// Reason is a sentence: "60 of 200 nodes went silent within a minute".
	Reason string
}

// On reports whether it is set.
func (b Brake) On() bool { return !b.Since.IsZero() }

// BrakeMemory is what is remembered of silence. It need not be kept.
type BrakeMemory struct {
	Brake Brake
	// Silent is when each silent node was first seen so. The zero time is for
	// those whose loss people know of: they set no brake again.
	Silent map[inventory.NodeID]time.Time
	// Gone are the nodes that went silent with the brake, in order.
	Gone []inventory.NodeID
	// HalfBack is since when half of them are back. Zero: they are not.
	HalfBack time.Time
}

// brake looks who is silent, and sets or releases the brake.
func (s *step) brake() {
	m := &s.mem.Brake
	s.listen(m)
	if m.Brake.On() {
		s.releaseBrake(m)
	} else {
		s.setBrake(m)
	}
	s.braked, s.plan.Brake = m.Brake.On(), m.Brake
}

// silent reports whether a node is one that counts as gone: it was heard since
// this control plane started, or it is lost and holds what would be replaced.
func silent(n *inventory.Node) bool {
	if n.Hearing == inventory.Heard {
		return false
	}
	return n.ShardsKnown || n.Hearing == inventory.Lost && len(n.Allocations) > 0
}

// listen notes who became silent and who is heard again.
func (s *step) listen(m *BrakeMemory) {
	changed := false
	own := func() {
		if !changed {
			m.Silent, changed = clone(m.Silent), true
		}
	}
	for n := range s.marked(quiet) {
		if _, was := m.Silent[n.ID]; !was && silent(n) {
			own()
			m.Silent[n.ID] = s.now
		}
	}
	for id := range m.Silent {
		if n := s.fleet.Node(id); n == nil || n.Hearing == inventory.Heard {
			own()
			delete(m.Silent, id)
		}
	}
}

// recent are the nodes that went silent within the window, in order.
func (s *step) recent(m *BrakeMemory) []inventory.NodeID {
	var out []inventory.NodeID
	for id, at := range m.Silent {
		if !at.IsZero() && s.now.Sub(at) < BrakeWindow {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func (s *step) setBrake(m *BrakeMemory) {
	gone := s.recent(m)
	if len(gone) < BrakeNodes {
		return
	}
	of := len(gone) + len(s.nodes)
	for range s.marked(quiet) {
		of--
	}
	if 100*len(gone) < BrakePercent*of {
		return
	}
	m.Gone, m.HalfBack = gone, time.Time{}
	m.Brake = Brake{Since: s.now, Reason: fmt.Sprintf("%d of %d nodes went silent within a minute", len(gone), of)}
	s.tellBrake(EventBrakeSet, m.Brake.Reason+"; what is lost is not replaced until half are back, a person releases the brake, or 30 minutes have passed.")
	s.wake(s.now.Add(BrakeLimit))
}

// releaseBrake ends the brake when it is time.
func (s *step) releaseBrake(m *BrakeMemory) {
	for _, id := range s.recent(m) {
		if i, in := slices.BinarySearch(m.Gone, id); !in {
			m.Gone = slices.Insert(slices.Clone(m.Gone), i, id)
		}
	}
	away := 0
	for _, id := range m.Gone {
		if _, still := m.Silent[id]; still {
			away++
		}
	}
	switch back := len(m.Gone) - away; {
	case 2*back < len(m.Gone):
		m.HalfBack = time.Time{}
	case m.HalfBack.IsZero():
		m.HalfBack = s.now
	}
	settled, limit := m.HalfBack.Add(BrakeSettle), m.Brake.Since.Add(BrakeLimit)
	switch {
	case s.released:
		s.endBrake(m, "A person released the brake")
	case away == 0 || !m.HalfBack.IsZero() && !s.now.Before(settled):
		s.endBrake(m, fmt.Sprintf("The brake is released, since %d of %d nodes are back", len(m.Gone)-away, len(m.Gone)))
	case !s.now.Before(limit):
		s.endBrake(m, "The brake is released, since 30 minutes have passed")
	default:
		s.wake(limit)
		if !m.HalfBack.IsZero() {
			s.wake(settled)
		}
	}
}

// endBrake forgets the loss: those who are still silent are known to be.
func (s *step) endBrake(m *BrakeMemory, why string) {
	known := map[inventory.NodeID]time.Time{}
	for id := range m.Silent {
		known[id] = time.Time{}
	}
	*m = BrakeMemory{Silent: known}
	s.tellBrake(EventBrakeReleased, fmt.Sprintf("%s; what is lost is replaced again, and %d of the nodes are silent still.", why, len(known)))
}

func (s *step) tellBrake(kind EventKind, text string) {
	s.plan.Events = append(s.plan.Events, Event{At: s.now, Kind: kind, Text: text})
}

// keep marks the replicas that are lost and hold their place under the brake.
// One that has a replacement under way is settled as ever.
func (s *step) keep(g *group) {
	for _, u := range g.units {
		u.kept = s.braked && u.live() && u.state == StateLost && g.replacementOf(u.ID) == nil
	}
}

// tellKept says why a model stays short under the brake.
func (s *step) tellKept(g *group, h *ModelHealth) {
	if !s.braked {
		return
	}
	t := placement.ProfileTrace{Counts: map[placement.Reason]int{}}
	for _, u := range g.units {
		if !u.kept {
			continue
		}
		t.Profile = u.Profile.Name
		t.Looked++
		t.Counts[placement.Brake]++
		if len(t.Lines) < placement.MaxLines {
			t.Lines = append(t.Lines, placement.Rejection{
				Node: s.lostNode(u), Reason: placement.Brake,
				Text: fmt.Sprintf("is lost with replica %s, which is not replaced while the brake is set: %s", u.ID, s.plan.Brake.Reason),
			})
		} else {
			t.Omitted++
		}
	}
	if t.Looked == 0 {
		return
	}
	h.Clamps = append(h.Clamps, fmt.Sprintf("Lost replicas, %d of them, are not replaced while the brake is set; release it when their nodes are truly gone.", t.Looked))
	if g.trace == nil {
		g.trace = &placement.Trace{Version: s.w.Fleet.Version(), Profiles: []placement.ProfileTrace{t}}
	}
}
