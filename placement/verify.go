package placement

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Verify says whether a candidate still holds in the world as it is now; the
// empty reason means that it does. It asks the same filters as Choose, and
// whether these very devices are still open; it does not ask whether another
// node would be better by now.
func (p Placer) Verify(world *inventory.Snapshot, req Request, c Candidate) (Reason, string) {
	profiles := req.profiles()
	i := slices.IndexFunc(profiles, func(x *catalog.Profile) bool { return x.Name == c.Profile })
	if i < 0 {
		return Excluded, fmt.Sprintf("the model has no profile %s to place any more", c.Profile)
	}
	q := newQuery(p, world, req, profiles[i])
	if len(c.Spots) != q.profile.ShardCount() {
		return GroupShape, fmt.Sprintf("profile %s has %d shards now, the candidate has %d", c.Profile, q.profile.ShardCount(), len(c.Spots))
	}
	for _, s := range c.Spots {
		n := world.Node(s.Node)
		if n == nil {
			return NotReady, fmt.Sprintf("node %s is not known any more", s.Node)
		}
		if r := q.refuse(n); r.reason != "" {
			return r.reason, r.sentence(q, n)
		}
		if reason, text := q.verifyDevices(n, s.Devices); reason != "" {
			return reason, text
		}
	}
	return "", ""
}

func (q *query) verifyDevices(n *inventory.Node, shares []inventory.DeviceShare) (Reason, string) {
	if len(shares) != q.need.devices {
		return GroupShape, fmt.Sprintf("the profile asks for %d devices now, the candidate has %d", q.need.devices, len(shares))
	}
	for _, s := range shares {
		d, ok := n.Device(s.Index)
		switch {
		case !ok:
			return NoDevices, fmt.Sprintf("device %d is gone", s.Index)
		case (s.MemoryMB > 0) != q.need.shared:
			return GroupShape, fmt.Sprintf("the profile shares devices otherwise now than the candidate does device %s", d.Label)
		case q.reach(n, &d) < roomy:
			return DevicesBusy, fmt.Sprintf("device %s is not open any more", d.Label)
		}
	}
	return "", ""
}
