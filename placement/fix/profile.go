package fix

import (
	"fmt"
	"slices"
	"strings"

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

// lowerAll offers, for each reservation, the least that lowers it enough.
func (l *looking) lowerAll() {
	for _, k := range reservations() {
		was := k.of(l.profile)
		least := (was + leastPart - 1) / leastPart
		if was == 0 || least == was || !l.refused(k.reasons) || l.fruitless(Reserve) {
			continue
		}
		v, ok := l.tune(&k, least, was-1, 1)
		if !ok {
			continue
		}
		p := k.with(l.profile, v)
		l.offer(offerOf(change{
			Do: Reserve, Object: l.profile.Name,
			tell: func() (detail, text string) {
				return fmt.Sprintf("it is %d; see that the model needs no more than that", was),
					fmt.Sprintf("lower %s of profile %s to %d %s", k.key, l.profile.Name, v, k.unit)
			},
			harm: float64(was-v) / float64(was), profile: p,
		}))
	}
}

// raise offers to let more replicas stand in one domain.
func (l *looking) raise() {
	sp := l.profile.Spread
	if sp == nil || sp.MaxPerDomain == 0 || !l.refused([]placement.Reason{placement.Spread}) || l.fruitless(Spread) {
		return
	}
	k := knob{
		reasons: []placement.Reason{placement.Spread},
		set: func(p *catalog.Profile, v int) {
			s := *p.Spread
			s.MaxPerDomain = v
			p.Spread = &s
		},
	}
	v, ok := l.tune(&k, sp.MaxPerDomain+mostRaise, sp.MaxPerDomain+1, -1)
	if !ok {
		return
	}
	l.offer(offerOf(change{
		Do: Spread, Object: l.profile.Name,
		tell: func() (detail, text string) {
			return fmt.Sprintf("it is %d a %s", sp.MaxPerDomain, sp.Level), fmt.Sprintf("raise spread.max_per_domain of profile %s to %d", l.profile.Name, v)
		},
		harm: float64(v - sp.MaxPerDomain), profile: k.with(l.profile, v),
	}))
}

// fruitless reports whether a single step of a kind can be no better than what
// is known.
func (l *looking) fruitless(d Do) bool {
	best := l.best()
	return best != nil && len(best.changes) == 1 && best.ranks < slices.Index(order, d)
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
		ask = t.l.x.Ask(t.l.q.Request, t.knob.with(t.l.profile, v))
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

// fix is an offer that was proven, for people.
func (o *offer) fix(d placement.Decision) Fix {
	f := Fix{Profile: d.Candidate.Profile}
	var do []string
	for i := range o.changes {
		c := &o.changes[i]
		step := Step{Do: c.Do, Object: c.Object}
		step.Detail, step.Text = c.tell()
		f.Steps = append(f.Steps, step)
		do = append(do, step.Text)
		if c.Do == Stop {
			f.Stops = append(f.Stops, c.Object)
		}
	}
	slices.Sort(f.Stops)
	var places []string
	for _, s := range d.Candidate.Spots {
		f.Places = append(f.Places, s.Node)
		places = append(places, string(s.Node))
	}
	text := listed(do)
	f.Text = fmt.Sprintf("%s%s: then it fits on %s as %s.", strings.ToUpper(text[:1]), text[1:], listed(places), f.Profile)
	return f
}

// listed is a list in words.
func listed(of []string) string {
	switch len(of) {
	case 0:
		return "nothing"
	case 1:
		return of[0]
	}
	return strings.Join(of[:len(of)-1], ", ") + " and " + of[len(of)-1]
}
