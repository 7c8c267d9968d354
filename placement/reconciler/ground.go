package reconciler

import (
	"reflect"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// ground is where a step looks for room, with what it has placed so far.
type ground interface {
	Choose(req placement.Request) (placement.Decision, placement.Trace)
	// Explain is Choose with everything that is to be said.
	Explain(req placement.Request) (placement.Decision, placement.Trace)
	With(as ...inventory.Allocation)
	// try gives an index of it; what is done to that is forgotten.
	try(do func(x *placement.Index))
}

// indexed is the ground of every step in earnest.
type indexed struct{ *placement.Index }

func (x indexed) try(do func(x *placement.Index)) { x.Try(func() { do(x.Index) }) }

// ground is the index, brought up to a fleet.
func (c *Cache) ground(p placement.Placer, fleet *inventory.Snapshot) ground {
	if c.index == nil || p.Mix.Version == c.mix.Version && !sameMix(p.Mix, c.mix) {
		c.index = placement.NewIndex(p)
	}
	c.index.SetMix(p.Mix)
	c.mix = p.Mix
	c.index.Advance(fleet)
	return indexed{c.index}
}

// sameMix reports whether two mixes of one version are one.
func sameMix(a, b placement.Mix) bool {
	return sameSlice(a.Parts, b.Parts) || reflect.DeepEqual(a.Parts, b.Parts)
}

// mixUp brings the mix up to what is wanted: the replicas that there are, and
// those that are lacking of what people ask for at least. A placer with a mix of
// its own keeps it.
func (s *step) mixUp() {
	c := s.cache
	if s.placer.Mix.Version != 0 || len(s.placer.Mix.Parts) > 0 {
		return
	}
	changed := c.mixedOf.Version != s.mem.Mix.Version || !sameSlice(c.mixedOf.Parts, s.mem.Mix.Parts)
	n := 0
	for _, g := range s.groups {
		w, ok := g.wanted()
		if !ok {
			continue
		}
		if n == len(c.wanted) {
			c.wanted, changed = append(c.wanted, w), true
		} else if c.wanted[n] != w {
			c.wanted[n], changed = w, true
		}
		n++
	}
	if changed = changed || n != len(c.wanted); changed {
		c.wanted = c.wanted[:n]
		c.mixedOf, c.mixed = s.mem.Mix, s.mem.Mix.Next(c.wanted)
	}
	s.mem.Mix, s.placer.Mix = c.mixed, c.mixed
}

// wanted is what the group adds to the mix; false for one that is not placed.
func (g *group) wanted() (placement.Wanted, bool) {
	if g.entry == nil || !managed(&g.entry.Model) {
		return placement.Wanted{}, false
	}
	w := placement.Wanted{Model: &g.entry.Model}
	for _, u := range g.units {
		if u.live() {
			w.Replicas++
		}
	}
	least, most := g.entry.Model.Bounds()
	w.Refused = max(0, min(least, most)-w.Replicas)
	if g.mem.Unplaceable {
		w.Refused = max(1, w.Refused)
	}
	return w, w.Replicas+w.Refused > 0
}

// How much a step prepares for later ones: so many hosts are asked anew, give or
// take those of one model, and so many models are looked at.
const (
	preparedHosts  = 1000
	preparedModels = 16
)

// prepare brings a part of what is remembered up to date, model after model, so
// that a step with much to do has little to catch up with. One that has placed
// something has done enough.
func (s *step) prepare() {
	c := s.cache
	if len(s.plan.Actions) > 0 || c.index == nil {
		return
	}
	asked := 0
	for range min(preparedModels, len(c.groups)) {
		g := c.groups[c.prepared%len(c.groups)]
		c.prepared++
		if g.entry == nil || g.own == 0 {
			continue
		}
		if asked += c.index.Prepare(&g.entry.Model); asked >= preparedHosts {
			return
		}
	}
}
