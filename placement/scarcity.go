package placement

import "slices"

// A kind of device that much of the mix asks for and few hosts have is scarce.
// A request that takes any kind takes the least scarce one: what it leaves is
// asked for by name. A profile that names its class has no such choice.

// scarcities count, for the mix, which kinds of devices it could be served by,
// and what follows: how much is asked of each.
type scarcities struct {
	// kinds are the devices of each kind, parts those that each part of the mix
	// could be given, and both counts their devices by part and kind.
	kinds, parts []int
	both         [][]int
	units        []int64 // by kind
	// loads are how much of the mix is asked of a device of each kind, where the
	// whole fleet's are asked for once: one is the mean.
	loads []float64
	// version rises with loads.
	version int
	stale   bool
	terms   []float64
}

// count adds a host's devices, or takes them away.
func (s *scarcities) count(m *measurer, h *host, by int) {
	if len(m.parts) == 0 {
		return
	}
	for b := range h.banks {
		d, all := h.first(b), by*h.banks[b].all
		s.see(m, d)
		s.kinds[d.kind] += all
		for i := range m.parts {
			if m.parts[i].asksFor(h, d) {
				s.parts[i] += all
				s.both[i][d.kind] += all
			}
		}
	}
	s.stale = true
}

// see makes room for a kind.
func (s *scarcities) see(m *measurer, d *device) {
	if s.parts == nil {
		s.parts, s.both = make([]int, len(m.parts)), make([][]int, len(m.parts))
	}
	for int(d.kind) >= len(s.kinds) {
		s.kinds, s.units = append(s.kinds, 0), append(s.units, 1)
		for i := range s.both {
			s.both[i] = append(s.both[i], 0)
		}
	}
	s.units[d.kind] = max(1, d.nominalMB)
}

// first is the first device of a bank.
func (h *host) first(bank int) *device {
	for i := range h.devices {
		if int(h.devices[i].bank) == bank {
			return &h.devices[i]
		}
	}
	return nil
}

// asksFor reports whether a part of the mix could be given a host's device. How
// many it wants side by side does not matter: that is fragmentation.
func (p *measuredPart) asksFor(h *host, d *device) bool {
	for _, q := range p.profiles {
		if q.need.devices > 0 && q.suitsDevice(d) && q.admitted(h) {
			return true
		}
	}
	return false
}

// weigh works out what is asked of each kind. Every part is spread evenly over
// the devices that it could be given.
func (s *scarcities) weigh(m *measurer) {
	s.stale = false
	all, sum := 0, 0.0
	asked := make([]float64, len(s.parts)) // by part: devices, less a factor
	for i, devices := range s.parts {
		s.terms = s.terms[:0]
		for k, n := range s.both[i] {
			if n > 0 {
				s.terms = append(s.terms, m.parts[i].chance*m.parts[i].profiles[0].takes(s.units[k])*float64(n)/float64(devices))
			}
		}
		slices.Sort(s.terms) // kinds have no order of their own, and sums of fractions do
		for _, t := range s.terms {
			asked[i] += t
		}
		sum += asked[i]
	}
	for _, n := range s.kinds {
		all += n
	}
	loads := make([]float64, len(s.kinds))
	for k, n := range s.kinds {
		for i := range s.parts {
			if s.both[i][k] > 0 {
				loads[k] += asked[i] / sum * float64(all) / float64(s.parts[i]) * float64(s.both[i][k]) / float64(n)
			}
		}
	}
	if !sameLoads(s.loads, loads) {
		s.version++
	}
	s.loads = loads
}

// sameLoads takes a kind that is not there as one that nobody asks for.
func sameLoads(a, b []float64) bool {
	for k := range max(len(a), len(b)) {
		if load(a, k) != load(b, k) {
			return false
		}
	}
	return true
}

func load(of []float64, kind int) float64 {
	if kind < len(of) {
		return of[kind]
	}
	return 0
}

// takes is what a shard takes, in devices of so many MiB each.
func (q *query) takes(unit int64) float64 {
	if q.need.shared {
		return min(1, float64(q.need.deviceMB)/float64(unit))
	}
	return float64(q.need.devices)
}

// choosy reports whether it matters to the query which kinds are scarce.
func (q *query) choosy() bool { return q.need.devices > 0 && q.need.class == "" }

// scarceLoss is what others miss, in devices, who ask for the host's by name.
func (q *query) scarceLoss() float64 {
	if !q.choosy() {
		return 0
	}
	for i := range q.h.devices {
		if d := &q.h.devices[i]; q.reach(d) == roomy {
			return scarce * q.takes(max(1, d.nominalMB)) * load(q.land.scarcities.loads, int(d.kind))
		}
	}
	return 0
}
