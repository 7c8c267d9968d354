package placement

import "math"

// Scores are in device-seconds: how long how many devices are expected to do
// nothing because of the placement. Every part is a loss, so the best node
// loses least; ties go to the quickest node as far as that was measured, then to
// the lowest id.
//
// What is spoiled of the fleet's shape stays spoiled until replicas leave,
// patience seconds or so. The proportions of fragment, balance and
// leftover come from replaying the trace of "Beware of Fragmentation" (USENIX
// ATC 2023), whose measure the first of them is; bench/placement repeats that.
const (
	// patience turns devices that are lost to the fleet into device-seconds.
	patience = 300.0
	// scarce is lost, in devices, for each device that is taken of a kind of
	// which as much is asked as of the mean: some of those who ask for it by name
	// will not get it. Twice as much where twice as much is asked.
	scarce = 0.15
	// imbalance is lost, in devices, where all devices stay free and no cores
	// do, or the other way round: what is left of a host that has run out of
	// one is worth nothing.
	imbalance = 0.066
	// idleDevice is lost for each device that stays free, idleCores and
	// idleMemory for all of a host's. They are small and only part near equals:
	// what is begun is filled first.
	idleDevice = 0.0034
	idleCores  = 0.028
	idleMemory = 0.001
	// rarity is the power of its size with which a part of the mix counts that
	// wants a part of a device: small requests fill what large ones leave, and
	// to keep room for each large one costs all others. Whole devices count as
	// often as they are asked for.
	rarity = -0.6
	// deadDomain and crowding shape what opening a vacant host costs groups of
	// several nodes, in hosts: less where no group has room anyway, and more
	// the more vacant hosts a domain has, so that the small ones go first.
	deadDomain = 0.5
	crowding   = 0.01
	// mostCrowded is the number of hosts beyond which a domain is just large.
	mostCrowded = 64
	// farApart is lost, in devices, for each further rack that a group touches:
	// its shards speak through more switches.
	farApart = 0.01
	// loadRate is how fast weights are brought where nobody has measured it, in
	// bytes a second. A replica's devices wait that long.
	loadRate = 1 << 30
	// loadStart is what bringing weights takes beside that, in seconds: to ask
	// for them, to make room, and to check what came.
	loadStart = 30.0
	// sameFate is lost, in devices, where all replicas of the model stand on
	// the node and in its rack: one failure would take them all.
	sameFate = 2.0
	// hair is lost, in device-seconds, from the quickest node to one that makes no
	// tokens at all. It is less than any other part can differ by.
	hair = 1e-6
	// uneven is lost, in devices, for every replica in the domain where the
	// profile asks for an even spread. It outweighs all the rest.
	uneven = 1e6
)

// losses are what a placement costs, in device-seconds, each zero or more but
// the first: a placement may also mend what is broken.
type losses struct {
	fragment, balance, leftover, load, scarce float64
}

func (l losses) sum() float64 { return l.fragment + l.balance + l.leftover + l.load + l.scarce }

// losses are those that rest on the host it looks at alone.
func (q *query) losses() losses {
	h := q.h
	cores := h.freeCores(int64(q.need.cores))
	out := losses{load: q.loadLoss(), leftover: patience * q.leftover()}
	out.fragment, out.scarce = patience*q.fragment(cores), patience*q.scarceLoss()
	if q.need.devices > 0 {
		devices := float64(h.untouched-q.need.devices) / float64(max(1, len(h.devices)))
		if q.need.shared {
			devices = q.sharedLeft()
		}
		out.balance = patience * imbalance * math.Abs(h.cores.share(int64(q.need.cores))-devices)
	}
	return out
}

// base is the score as far as it rests on the host alone.
func (q *query) base() float64 {
	total := -q.losses().sum() - q.speedLoss()
	for _, s := range q.placer.Scorers {
		total += s.Score(q.h.node, q.model, q.profile)
	}
	return total
}

// beyond is the score of a base with what lies beyond the host: groups of
// several nodes that could have it, and the model's other replicas.
func (q *query) beyond(base float64) float64 { return base - q.openingLoss() - q.spreadLoss() }

// score is the host's points; higher is better.
func (q *query) score() float64 { return q.beyond(q.base()) }

// explain is the score with its parts by name.
func (q *query) explain() Score {
	l := q.losses()
	// Taken from zero, so that no loss is 0 and not -0.
	out := Score{Node: q.h.node.ID, Total: q.score(), Parts: map[string]float64{
		"fragment": 0 - l.fragment, "balance": 0 - l.balance, "leftover": 0 - l.leftover, "load": 0 - l.load,
		"spread": 0 - q.spreadLoss(),
	}}
	if l.scarce != 0 {
		out.Parts["scarce"] = 0 - l.scarce
	}
	if loss := q.speedLoss(); loss != 0 {
		out.Parts["speed"] = 0 - loss
	}
	if loss := q.openingLoss(); loss != 0 {
		out.Parts["group"] = 0 - loss
	}
	for _, s := range q.placer.Scorers {
		out.Parts[customPrefix+s.Name] += s.Score(q.h.node, q.model, q.profile)
	}
	return out
}

// fragment is how many more of the host's free devices the mix's next request
// could not use.
func (q *query) fragment(cores int64) float64 {
	h, sum := q.h, 0.0
	if q.need.shared {
		_, lost := q.bestShare(cores)
		return lost
	}
	for b := range h.banks {
		bank := &h.banks[b]
		sum += bank.table.lost(cores, bank.free[q.taken(b):], bank.unit) - bank.lost
	}
	return sum
}

// taken is how many devices of a bank the query would take.
func (q *query) taken(b int) int {
	h := q.h
	if q.need.devices == 0 || len(h.banks) == 1 {
		return min(q.need.devices, len(h.banks[b].free))
	}
	left, out := q.need.devices, 0
	for i := range h.devices {
		if d := &h.devices[i]; left > 0 && q.reach(d) == roomy {
			left--
			if int(d.bank) == b {
				out++
			}
		}
	}
	return min(out, len(h.banks[b].free))
}

// bestShare is the device that a share harms least, by its place, and how many
// devices more are lost to the mix then. Near equals go to the fullest device.
func (q *query) bestShare(cores int64) (at int, lost float64) {
	h := q.h
	at, rest := -1, 0.0
	for b := range h.banks {
		bank := &h.banks[b]
		rest += bank.table.lost(cores, bank.free, bank.unit) - bank.lost
	}
	for i := range h.devices {
		d := &h.devices[i]
		if q.reach(d) != roomy {
			continue
		}
		if d.bank < 0 || d.memoryMB == 0 {
			if at < 0 {
				at, lost = i, rest
			}
			continue
		}
		if q.sameShare(i) {
			continue
		}
		bank := &h.banks[d.bank]
		q.buf = reduced(q.buf[:0], bank.free, d.shareableMB, q.need.deviceMB)
		v := rest + bank.table.lost(cores, q.buf, bank.unit) - bank.table.lost(cores, bank.free, bank.unit)
		switch {
		case at < 0, v < lost-1e-9, v < lost+1e-9 && d.shareableMB < h.devices[at].shareableMB:
			at, lost = i, v
		}
	}
	return at, lost
}

// sameShare reports whether an earlier device is as full as this one.
func (q *query) sameShare(i int) bool {
	d := &q.h.devices[i]
	for k := range i {
		if o := &q.h.devices[k]; o.bank == d.bank && o.shareableMB == d.shareableMB && q.reach(o) == roomy {
			return true
		}
	}
	return false
}

// reduced is free with one of the devices that has so much left reduced, in
// descending order.
func reduced(buf, free []int64, has, take int64) []int64 {
	buf = append(buf, free...)
	k := 0
	for k < len(buf)-1 && buf[k] > has {
		k++
	}
	left := max(0, min(has, buf[k])-take)
	for k+1 < len(buf) && buf[k+1] > left {
		buf[k] = buf[k+1]
		k++
	}
	buf[k] = left
	return buf
}

// sharedLeft is the free part of the devices once a share is taken.
func (q *query) sharedLeft() float64 {
	left, all := 0.0, 0
	for b := range q.h.banks {
		left += q.h.banks[b].left()
		all += q.h.banks[b].all
	}
	for i := range q.h.devices {
		if d := &q.h.devices[i]; d.memoryMB > 0 {
			return max(0, left-float64(q.need.deviceMB)/float64(d.nominalMB)) / float64(max(1, all))
		}
	}
	return left / float64(max(1, all))
}

// leftover is what stays free, in devices: little, and only to part near equals.
func (q *query) leftover() float64 {
	h, sum := q.h, 0.0
	for b := range h.banks {
		sum += h.banks[b].left()
	}
	switch {
	case q.need.shared:
		sum = q.sharedLeft() * float64(len(h.devices))
	default:
		sum -= float64(q.need.devices)
	}
	sum *= idleDevice
	sum += idleCores * h.cores.share(int64(q.need.cores))
	if q.need.devices == 0 && q.need.memoryMB == 0 && q.need.cores == 0 {
		// What reserves nothing cannot be packed: it goes where the least is.
		shards := float64(len(h.node.Allocations))
		return sum + idleMemory*shards/(shards+1)
	}
	return sum + idleMemory*h.memory.share(q.need.memoryMB)
}

// loadLoss is how long the devices wait for weights that are not there yet.
func (q *query) loadLoss() float64 {
	if q.weights.local || len(q.weights.files) == 0 {
		return 0
	}
	lacks := q.lacks()
	if lacks == 0 {
		return 0
	}
	return float64(max(1, q.need.devices)) * (loadStart + float64(lacks)/loadRate)
}

// openingLoss is what groups lose when a vacant host is opened.
func (q *query) openingLoss() float64 {
	if !q.opens() || !q.h.vacant {
		return 0
	}
	return patience * q.land.opening(q.h)
}

// opens reports whether the profile takes devices on single nodes.
func (q *query) opens() bool { return q.need.devices > 0 && q.profile.ShardCount() == 1 }

// spreadLoss is what the model's replicas nearby cost: the more of them one
// failure would take, the more.
func (q *query) spreadLoss() float64 {
	s := q.stands
	if s.total == 0 {
		return 0
	}
	here := s.nodes[q.at]
	near, known := s.rack(q.at)
	if !known {
		near = here // a node that does not say its rack is one of its own
	}
	loss := sameFate * float64(here+near) / float64(2*s.scale())
	if sp := q.profile.Spread; sp != nil && sp.MaxPerDomain == 0 {
		if count, known := s.at(q.at, sp.Level); known {
			loss += uneven * float64(count)
		}
	}
	return patience * loss * float64(max(1, q.need.devices))
}
