package fix

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
)

// What a profile asks for is one number for the whole fleet, so one step that
// lowers it may help many nodes at once. It is lowered by as little as does, and
// by half at most.

// knob is a number of a profile.
type knob struct {
	key, unit string
	// reasons are those that another number may mend.
	reasons []placement.Reason
	of      func(p *catalog.Profile) int
	set     func(p *catalog.Profile, v int)
}

// reservations are the numbers that may be lowered.
func reservations() []knob {
	return []knob{{
		key: "min_memory_gb", unit: "GiB", reasons: []placement.Reason{placement.HostMemory, placement.Reserve},
		of: func(p *catalog.Profile) int { return p.MemoryGB }, set: func(p *catalog.Profile, v int) { p.MemoryGB = v },
	}, {
		key: "cpu_cores", unit: "cores", reasons: []placement.Reason{placement.Cores, placement.Reserve},
		of: func(p *catalog.Profile) int { return p.CPUCores }, set: func(p *catalog.Profile, v int) { p.CPUCores = v },
	}, {
		key: "disk_gb", unit: "GiB", reasons: []placement.Reason{placement.Disk},
		of: func(p *catalog.Profile) int { return p.DiskGB }, set: func(p *catalog.Profile, v int) { p.DiskGB = v },
	}, {
		key: "gpu.memory_gb", unit: "GiB", reasons: []placement.Reason{placement.DeviceMemory},
		of: func(p *catalog.Profile) int {
			if p.GPU == nil {
				return 0
			}
			return p.GPU.MemoryGB
		},
		set: func(p *catalog.Profile, v int) {
			gpu := *p.GPU
			gpu.MemoryGB = v
			p.GPU = &gpu
		},
	}}
}

// with is a copy of a profile with another number.
func (k *knob) with(p *catalog.Profile, v int) *catalog.Profile {
	out := *p
	k.set(&out, v)
	return &out
}

// number is what a change makes of a knob: v now, and nearer to what it was in
// steps of up, as far as near.
type number struct {
	v, near, up int
	to          func(v int) change
}

// lower lowers a reservation. The model may need what it says.
func (k knob) lower(p *catalog.Profile, v int) change {
	was := k.of(p)
	return change{
		Do: Reserve, Object: p.Name, part: k.key,
		tell: func() (detail, text string) {
			return fmt.Sprintf("it is %d; see that the model needs no more than that", was),
				fmt.Sprintf("lower %s of profile %s to %d %s", k.key, p.Name, v, k.unit)
		},
		harm: float64(was-v) / float64(was), edit: func(p *catalog.Profile) { k.set(p, v) },
		number: &number{v, was - 1, 1, func(v int) change { return k.lower(p, v) }},
	}
}

// raise lets more replicas stand in one domain.
func raise(p *catalog.Profile, v int) change {
	was, k := p.Spread.MaxPerDomain, spread()
	return change{
		Do: Spread, Object: p.Name,
		tell: func() (detail, text string) {
			return fmt.Sprintf("it is %d a %s", was, p.Spread.Level), fmt.Sprintf("raise spread.max_per_domain of profile %s to %d", p.Name, v)
		},
		harm: float64(v - was), edit: func(p *catalog.Profile) { k.set(p, v) },
		number: &number{v, was + 1, -1, func(v int) change { return raise(p, v) }},
	}
}

func spread() knob {
	return knob{
		reasons: []placement.Reason{placement.Spread},
		set: func(p *catalog.Profile, v int) {
			s := *p.Spread
			s.MaxPerDomain = v
			p.Spread = &s
		},
	}
}

// least is how far a reservation may be lowered; ok is false for one that may not.
func (k knob) least(p *catalog.Profile) (v int, ok bool) {
	was := k.of(p)
	v = (was + leastPart - 1) / leastPart
	return v, v < was
}

// farthest changes each number of a profile as far as it may be.
func farthest(p *catalog.Profile) []change {
	var out []change
	for _, k := range reservations() {
		if v, ok := k.least(p); ok {
			out = append(out, k.lower(p, v))
		}
	}
	if sp := p.Spread; sp != nil && sp.MaxPerDomain > 0 {
		out = append(out, raise(p, sp.MaxPerDomain+mostRaise))
	}
	return out
}

// lowerAll offers, for each reservation, the least that lowers it enough.
func (l *looking) lowerAll() {
	for _, k := range reservations() {
		least, may := k.least(l.profile)
		if !may || l.done.has(Reserve, k.key) || !l.refused(k.reasons) || l.dearer(l.done, Reserve) {
			continue
		}
		if v, ok := l.tune(&k, least, k.of(l.profile)-1, 1); ok {
			l.offer(l.done.with(offerOf(k.lower(l.profile, v))))
		}
	}
}

// raiseIt offers to let more replicas stand in one domain.
func (l *looking) raiseIt() {
	sp, k := l.profile.Spread, spread()
	if sp == nil || sp.MaxPerDomain == 0 || l.done.has(Spread, "") || !l.refused(k.reasons) || l.dearer(l.done, Spread) {
		return
	}
	if v, ok := l.tune(&k, sp.MaxPerDomain+mostRaise, sp.MaxPerDomain+1, -1); ok {
		l.offer(l.done.with(offerOf(raise(l.profile, v))))
	}
}

func (l *looking) refused(reasons []placement.Reason) bool {
	return slices.ContainsFunc(reasons, func(r placement.Reason) bool { return l.counts[r] > 0 })
}

// tune finds the number nearest to near, on the way from far in steps of up,
// with which any team has room. What a farther number refuses, a nearer one does
// too.
func (l *looking) tune(k *knob, far, near, up int) (v int, ok bool) {
	t := tuning{l: l, knob: k, asks: map[int]*placement.Asking{}}
	for _, team := range l.teams {
		members := t.able(team)
		if len(members) < l.profile.ShardCount() || !t.room(members, far) {
			continue
		}
		// It has room at far: is it nearer than what is known?
		at := 0 // how many steps nearer
		for lo, hi := 1, (near-far)*up; lo <= hi; {
			if mid := (lo + hi) / 2; t.room(members, far+mid*up) {
				at, lo = mid, mid+1
			} else {
				hi = mid - 1
			}
		}
		v, ok = far+at*up, true
		if v == near {
			return v, true
		}
		far = v + up // from now on only what is better counts
	}
	return v, ok
}

// tuning is one call of tune at work.
type tuning struct {
	l    *looking
	knob *knob
	asks map[int]*placement.Asking
}

// able are the members of a team that another number may give room.
func (t *tuning) able(team []int) []int {
	var out []int
	for _, at := range team {
		if r := t.l.members[at].reason; r == "" || slices.Contains(t.knob.reasons, r) {
			out = append(out, at)
		}
	}
	return out
}

// room reports whether a team has room for all shards with a number.
func (t *tuning) room(members []int, v int) bool {
	ask := t.asks[v]
	if ask == nil {
		ask = t.l.x.Ask(t.l.req, t.knob.with(t.l.profile, v))
		t.asks[v] = ask
	}
	shards := t.l.profile.ShardCount()
	for i, at := range members {
		if shards > len(members)-i {
			return false
		}
		m := &t.l.members[at]
		if m.reason != "" {
			if reason, _, _ := ask.Node(m.node); reason != "" {
				continue
			}
		}
		if shards--; shards == 0 {
			return true
		}
	}
	return false
}
