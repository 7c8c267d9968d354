package fix

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// mostExact is how many replicas of one node are tried in every combination.
const mostExact = 8

// stops is what is done already and the fewest replicas to stop on a node so
// that it takes a shard; nil when there are none, or none that could be better
// than what is known.
func (l *looking) stops(n *inventory.Node, reason placement.Reason, done *offer) *offer {
	if !load(reason) || l.dearer(done, Stop) {
		return nil
	}
	able := l.able(n)
	least := l.needed(n, able)
	if len(able) == 0 || least > len(able) {
		return nil
	}
	if len(able) > mostExact || l.trials > mostTrials {
		return l.greedily(n, able, done)
	}
	for size := least; size <= len(able); size++ {
		for _, set := range sets(able, size) {
			o := done.with(offerOf(set...))
			if l.hopeless(o) {
				break // the others of that size are no better
			}
			if l.rid(n, set) {
				return o
			}
		}
	}
	return nil
}

// load reports whether a reason may go with what runs on the node.
func load(reason placement.Reason) bool {
	switch reason {
	case placement.DevicesBusy, placement.DeviceMemory, placement.HostMemory, placement.Cores, placement.Reserve, placement.Disk, placement.AntiAffinity:
		return true
	}
	return false
}

// dearer reports whether a single step of a kind, beside what is done, is more than
// the best offer.
func (l *looking) dearer(done *offer, do Do) bool {
	best := l.best()
	if best == nil || len(done.changes)+1 < len(best.changes) {
		return false
	}
	return len(done.changes)+1 > len(best.changes) || done.ranks+slices.Index(order, do) > best.ranks
}

// able are the replicas on a node that may be stopped, the least harmful first.
func (l *looking) able(n *inventory.Node) []change {
	var out []change
	for i := range n.Allocations {
		a := &n.Allocations[i]
		o := l.standing[a.Replica]
		if o == nil || slices.ContainsFunc(out, func(c change) bool { return c.Object == a.Replica }) {
			continue
		}
		out = append(out, l.stop(o))
	}
	slices.SortFunc(out, func(a, b change) int { return cmp.Or(cmp.Compare(a.harm, b.harm), cmp.Compare(a.Object, b.Object)) })
	return out
}

// classHarm makes any replica of a lower class less harm than one of a higher.
const classHarm = 1e12

func (l *looking) stop(o *stander) change {
	return change{
		Do: Stop, Object: o.Replica,
		tell: func() (detail, text string) {
			return fmt.Sprintf("it is of model %s, which is %s; scale that down, or another one takes the room", o.Model, o.Class.OrDefault()), "stop replica " + o.Replica
		},
		// Device-seconds until it is back; one without devices is a tenth of one.
		harm:  classHarm*float64(o.Class.Rank()) + max(0.1, float64(o.devices))*max(1, o.Seconds),
		nodes: o.nodes,
		on:    func(n *inventory.Node) *inventory.Node { return n.Without(o.Replica) },
	}
}

// needed is how many replicas must leave at least, by the devices they have.
func (l *looking) needed(n *inventory.Node, able []change) int {
	reason, need, have := l.ask.Node(n)
	if reason != placement.DevicesBusy {
		return 1
	}
	var sizes []int
	for i := range able {
		size := 0
		for k := range n.Allocations {
			if n.Allocations[k].Replica == able[i].Object {
				size += len(n.Allocations[k].Devices)
			}
		}
		sizes = append(sizes, size)
	}
	slices.SortFunc(sizes, func(a, b int) int { return b - a })
	missing, count := int(need-have), 0
	for count < len(sizes) && missing > 0 {
		missing -= sizes[count]
		count++
	}
	if missing > 0 {
		return len(able) + 1
	}
	return max(1, count)
}

// rid reports whether a node takes a shard when it is rid of these.
func (l *looking) rid(n *inventory.Node, set []change) bool {
	l.trials++
	for i := range set {
		n = n.Without(set[i].Object)
	}
	return l.asked(n) == ""
}

// sets are all of a size, the least harmful first.
func sets(of []change, size int) [][]change {
	if size == 1 {
		out := make([][]change, len(of))
		for i := range of {
			out[i] = of[i : i+1]
		}
		return out
	}
	var out []*offer
	for mask := uint(1); mask < 1<<len(of); mask++ {
		if bits.OnesCount(mask) != size {
			continue
		}
		var set []change
		for i := range of {
			if mask>>i&1 == 1 {
				set = append(set, of[i])
			}
		}
		out = append(out, offerOf(set...))
	}
	slices.SortStableFunc(out, func(a, b *offer) int { return cmp.Compare(a.harm, b.harm) })
	all := make([][]change, len(out))
	for i := range out {
		all[i] = out[i].changes
	}
	return all
}

// greedily lets all leave and takes back whom it can, the most harmful first; a
// single one that does is taken before.
func (l *looking) greedily(n *inventory.Node, able []change, done *offer) *offer {
	for i := range able {
		if o := done.with(offerOf(able[i])); l.hopeless(o) {
			break
		} else if l.rid(n, able[i:i+1]) {
			return o
		}
	}
	set := slices.Clone(able)
	if !l.rid(n, set) {
		return nil
	}
	for i := len(set) - 1; i >= 0 && len(set) > 1; i-- {
		if fewer := slices.Delete(slices.Clone(set), i, i+1); l.rid(n, fewer) {
			set = fewer
		}
	}
	if o := done.with(offerOf(set...)); !l.hopeless(o) {
		return o
	}
	return nil
}
