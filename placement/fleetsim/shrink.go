package fleetsim

import (
	"slices"
	"strings"
)

// Shrink makes a scenario smaller for as long as it still fails: events, models,
// nodes and the network's trouble are left out, first many at once and then one
// by one. fails must not depend on anything but the scenario; it is asked some
// hundred times at most.
func Shrink(sc *Scenario, fails func(*Scenario) bool) *Scenario {
	sh := &shrinking{best: sc, fails: fails, left: shrinkTries}
	for was := -1; was != len(sh.best.lines) && sh.left > 0; {
		was = len(sh.best.lines)
		for _, in := range []section{inTrace, inModels, inFleet, inNet} {
			sh.leaveOut(in)
		}
	}
	return sh.best
}

// shrinkTries bounds how often a smaller scenario is tried.
const shrinkTries = 600

type shrinking struct {
	best  *Scenario
	fails func(*Scenario) bool
	left  int
}

// leaveOut drops ever smaller runs of lines of one part.
func (sh *shrinking) leaveOut(in section) {
	for size := sh.count(in); size > 0; size /= 2 {
		for at := 0; at < sh.count(in); {
			if !sh.try(sh.without(in, at, size)) {
				at += size
			}
		}
	}
}

func (sh *shrinking) count(in section) int {
	n := 0
	for _, l := range sh.best.lines {
		if l.in == in {
			n++
		}
	}
	return n
}

// without are the lines but for a run of one part, and for events that name what
// went with it.
func (sh *shrinking) without(in section, at, size int) []line {
	gone := map[string]bool{}
	n := 0
	kept := slices.DeleteFunc(slices.Clone(sh.best.lines), func(l line) bool {
		if l.in != in {
			return false
		}
		n++
		out := n > at && n <= at+size
		if out && l.about != "" {
			gone[l.about] = true
		}
		return out
	})
	return slices.DeleteFunc(kept, func(l line) bool {
		return l.in == inTrace && slices.ContainsFunc(strings.Fields(l.text), func(w string) bool { return gone[w] })
	})
}

// try takes a smaller scenario if it reads and still fails.
func (sh *shrinking) try(lines []line) bool {
	if sh.left <= 0 {
		return false
	}
	smaller, err := Parse(join(lines))
	if err != nil {
		return false
	}
	sh.left--
	if !sh.fails(smaller) {
		return false
	}
	sh.best = smaller
	return true
}
