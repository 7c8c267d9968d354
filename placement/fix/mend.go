package fix

import (
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// mendAll is the least that makes a node take a shard of the profile; nil when
// nothing does, or nothing that could be better than what is known already.
func (l *looking) mendAll(n *inventory.Node, reason placement.Reason) *offer {
	if len(l.done.changes) > 0 && l.asks > mostWide {
		return nil
	}
	return l.mendOn(n, reason, l.done, perNode)
}

// mendOn goes on with a node as it is after what was done.
func (l *looking) mendOn(n *inventory.Node, reason placement.Reason, done *offer, left int) *offer {
	if reason == "" {
		return done
	}
	var least *offer
	try := func(changes []change) {
		for _, c := range changes {
			next := done.with(offerOf(c))
			if left == 0 || len(next.changes) == len(done.changes) || l.hopeless(next) {
				continue
			}
			after := c.on(n)
			if o := l.mendOn(after, l.asked(after), next, left-1); o != nil && (least == nil || o.compare(least) < 0) {
				least = o
			}
		}
	}
	try(l.mends(n, reason, done))
	if o := l.stops(n, reason, done); o != nil && (least == nil || o.compare(least) < 0) {
		least = o
	}
	if least == nil && load(reason) && len(n.Allocations) > 0 {
		// To stop what is there may do once this is out of the way, too.
		try(append(l.collect(n), l.free(n)...))
	}
	return least
}

// hopeless reports whether what is done already is more than the best offer. A
// group's nodes add up, so there it is known only at the end.
func (l *looking) hopeless(o *offer) bool {
	if len(o.changes) > l.most() {
		return true
	}
	best := l.best()
	return best != nil && (len(o.changes) > len(best.changes) || l.profile.ShardCount() == 1 && o.compare(best) >= 0)
}

// most is how many steps a fix for the profile may have.
func (l *looking) most() int { return max(mostSteps, l.profile.ShardCount()) }

func (l *looking) asked(n *inventory.Node) placement.Reason {
	l.asks++
	reason, _, _ := l.ask.Node(n)
	return reason
}

// mends are what can be done on a node about a reason, beside stopping what is
// there. What cannot be mended by less than another node has none.
func (l *looking) mends(n *inventory.Node, reason placement.Reason, done *offer) []change {
	switch reason {
	case placement.NotReady:
		return []change{wake(n)}
	case placement.Held:
		return []change{l.release(n, done)}
	case placement.Pool, placement.Labels:
		return []change{l.label(n)}
	case placement.EngineMissing, placement.BuildMissing:
		return []change{l.install(n)}
	case placement.Disk:
		return l.collect(n)
	case placement.IMEX:
		return []change{imex(n)}
	case placement.DeviceMemory:
		return append(l.free(n), l.repair(n)...)
	case placement.DevicesUnhealthy, placement.DevicesBusy:
		return l.repair(n)
	case placement.Excluded, placement.DeviceClass, placement.NoDevices, placement.MIGGroup, placement.ComputeCapability,
		placement.HostMemory, placement.Cores, placement.Reserve, placement.Fabric, placement.NVLinkDomain,
		placement.GroupShape, placement.Spread, placement.AntiAffinity, placement.Isolated, placement.Brake, placement.Outscored:
	}
	return nil
}
