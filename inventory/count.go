package inventory

// ClassCount counts the devices of one class. Each device is exactly one of
// free, unhealthy and in use.
type ClassCount struct {
	Class Class
	Total int
	// Free are healthy and have nothing allocated.
	Free int
	// Unhealthy are those with a problem, whether something runs there or not.
	Unhealthy int
	// InUse are healthy and allocated, whole or in part.
	InUse int
	// MIG says that they are instances of partitioned cards.
	MIG bool
}

// ClassCounts counts the node's devices by class, in order of the first device
// of each.
func (n *Node) ClassCounts() []ClassCount { return n.countInto(nil) }

// ClassCounts counts the devices of all nodes by class, in order of the first
// device of each.
func (s *Snapshot) ClassCounts() []ClassCount {
	var out []ClassCount
	for _, n := range s.nodes {
		out = n.countInto(out)
	}
	return out
}

// StateCounts counts nodes by the state they are shown in. States that no node
// is in are absent.
func (s *Snapshot) StateCounts() map[NodeState]int {
	out := make(map[NodeState]int, len(NodeStates))
	for _, n := range s.nodes {
		out[n.State()]++
	}
	return out
}

func (n *Node) countInto(out []ClassCount) []ClassCount {
	for i := range n.Facts.Devices {
		d := &n.Facts.Devices[i]
		at := 0
		for at < len(out) && out[at].Class != d.Class {
			at++
		}
		if at == len(out) {
			out = append(out, ClassCount{Class: d.Class, MIG: d.MIG()})
		}
		c := &out[at]
		c.Total++
		switch {
		case !d.Healthy():
			c.Unhealthy++
		case n.DeviceUse(d.Index).Free():
			c.Free++
		default:
			c.InUse++
		}
	}
	return out
}
