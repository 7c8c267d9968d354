package inventory

import "time"

// silence measures how long nodes have not been heard, apart from when they
// were last seen: a node that was never heard is silent since the start, and
// time in which this process itself stood still does not count.
type silence struct {
	unreachable, lost time.Duration
	// step is how far apart two looks at the clock should be.
	step time.Duration
	last time.Time
	// since is when each node's silence began.
	since map[NodeID]time.Time
}

// stallSteps is how many steps late a look at the clock may be before this
// process is taken to have stood still. A busy machine is a step or two late.
const stallSteps = 5

func newSilence(unreachable, lost, step time.Duration, now time.Time) silence {
	return silence{unreachable: unreachable, lost: lost, step: step, last: now, since: map[NodeID]time.Time{}}
}

// begin starts a node's silence anew.
func (s *silence) begin(id NodeID, now time.Time) { s.since[id] = now }

func (s *silence) forget(id NodeID) { delete(s.since, id) }

// advance moves the clock and returns how long this process stood still. That
// time is taken off every silence: agents may well have sent beats that nobody
// could take.
func (s *silence) advance(now time.Time) (stalled time.Duration) {
	gap := now.Sub(s.last)
	s.last = now
	if gap <= stallSteps*s.step {
		return 0
	}
	stalled = gap - s.step
	for id, began := range s.since {
		if began = began.Add(stalled); began.After(now) {
			began = now
		}
		s.since[id] = began
	}
	return stalled
}

// hearingSteps are the changes that silence makes, one at a time: a node passes
// through unreachable before it is lost. Only a report makes it heard again.
var hearingSteps = map[Hearing]Hearing{Heard: Unreachable, Unreachable: Lost}

// hearing is what a node's silence makes of its hearing.
func (s *silence) hearing(id NodeID, h Hearing, now time.Time) Hearing {
	next, ok := hearingSteps[h]
	if !ok {
		return h
	}
	quiet := now.Sub(s.since[id])
	if next == Unreachable && quiet >= s.unreachable || next == Lost && quiet >= s.lost {
		return next
	}
	return h
}
