package placement

import (
	"math"

	"llmgw.io/llmgw/inventory"
)

// Scores are in points, and every point is a loss: the best node loses least.
// One point is the harm of opening an untouched node for a part of it, by which
// a larger replica can no longer have the node whole. What follows is every
// other loss in that unit. Ties go to the lowest node id.
const (
	// openNode is lost where a node with all its devices free gets a replica
	// that leaves some of them.
	openNode = 1.0
	// leftover is lost where all devices, or all memory for a replica without
	// devices, stay free; less in proportion. It fills what is begun.
	leftover = 1.0
	// besideDevices is lost where a replica without devices takes room on a
	// host of devices, which are worth nothing without a host.
	besideDevices = 1.0
	// imbalance is lost where all devices stay free and no memory does, or the
	// other way round.
	imbalance = 0.5
	// absentWeights is lost where all weights must be brought first.
	absentWeights = 1.0
	// sameFate is lost where all replicas of the model stand on the node and
	// in its rack: one failure would take them all.
	sameFate = 2.0
	// uneven is lost for every replica in the domain where the profile asks for
	// an even spread. It outweighs all the rest.
	uneven = 10.0
)

// parts are a node's losses, each zero or less.
type parts struct {
	pack, balance, locality, spread float64
}

func (q *query) parts(n *inventory.Node) parts {
	// Taken from zero, so that no loss is 0 and not -0.
	return parts{pack: 0 - q.packLoss(n), balance: 0 - q.balanceLoss(n), locality: 0 - q.localityLoss(n), spread: 0 - q.spreadLoss(n)}
}

// score is a node's points; higher is better.
func (q *query) score(n *inventory.Node) float64 {
	p := q.parts(n)
	total := p.pack + p.balance + p.locality + p.spread
	for _, s := range q.placer.Scorers {
		total += s.Score(n, q.model, q.profile)
	}
	return total
}

// explain is the score with its parts by name.
func (q *query) explain(n *inventory.Node) Score {
	p := q.parts(n)
	out := Score{Node: n.ID, Total: q.score(n), Parts: map[string]float64{
		"pack": p.pack, "balance": p.balance, "locality": p.locality, "spread": p.spread,
	}}
	for _, s := range q.placer.Scorers {
		out.Parts[customPrefix+s.Name] += s.Score(n, q.model, q.profile)
	}
	return out
}

func (q *query) packLoss(n *inventory.Node) float64 {
	switch t := q.devices(n); {
	case q.need.shared:
		return q.sharedLoss(n, t)
	case q.need.devices > 0:
		return wholeLoss(t, q.need.devices)
	}
	return q.hostLoss(n)
}

func wholeLoss(t *tally, count int) float64 {
	stays := t.untouched - count
	loss := leftover * float64(stays) / float64(t.reached[ofClass])
	if t.untouched == t.reached[ofClass] && stays > 0 {
		loss += openNode
	}
	return loss
}

// sharedLoss is less on a device that is shared already, and least where the
// share fits closely.
func (q *query) sharedLoss(n *inventory.Node, t *tally) float64 {
	d := q.fullest(n)
	if d == nil {
		return 0
	}
	left, known := n.ShareableMB(*d)
	if !known {
		return openNode + leftover
	}
	loss := leftover * float64(left-q.need.deviceMB) / float64(max(1, d.MemoryMB))
	if n.DeviceUse(d.Index).Free() {
		// One whole device less of the node's.
		loss += openNode / float64(t.reached[ofClass])
	}
	return loss
}

func (q *query) hostLoss(n *inventory.Node) float64 {
	loss := 0.0
	if len(n.Facts.Devices) > 0 {
		loss += besideDevices
	}
	if free, known := n.FreeMemoryMB(); q.need.memoryMB > 0 {
		if !known {
			return loss + leftover // nobody knows how well it fits
		}
		return loss + leftover*share(free-q.need.memoryMB, n.Facts.MemoryMB)
	}
	// What reserves nothing cannot be packed: it goes where the least is.
	shards := float64(len(n.Allocations))
	return loss + leftover*shards/(shards+1)
}

// balanceLoss compares what stays free of devices with what stays free of the
// host's memory: a node that has run out of one strands the other.
func (q *query) balanceLoss(n *inventory.Node) float64 {
	free, known := n.FreeMemoryMB()
	t := q.devices(n)
	if !known || q.need.devices == 0 || q.need.shared || q.need.memoryMB == 0 {
		return 0
	}
	devices := float64(t.untouched-q.need.devices) / float64(t.reached[ofClass])
	return imbalance * math.Abs(devices-share(free-q.need.memoryMB, n.Facts.MemoryMB))
}

func (q *query) localityLoss(n *inventory.Node) float64 {
	total := q.weights.total()
	if total == 0 || q.weights.local {
		return 0
	}
	return absentWeights * float64(q.weights.missing(n)) / float64(total)
}

func (q *query) spreadLoss(n *inventory.Node) float64 {
	s := &q.stands
	if s.total == 0 {
		return 0
	}
	here := s.nodes[string(n.ID)]
	near := here // a node that does not say its rack is one of its own
	if rack := n.Domain(inventory.LevelRack); rack != "" {
		near = s.racks[rack]
	}
	loss := sameFate * float64(here+near) / float64(2*s.total)
	if s.level != "" && s.most == 0 {
		loss += uneven * float64(s.domains[n.Domain(s.level)])
	}
	return loss
}

func share(part, whole int64) float64 {
	return math.Max(0, float64(part)) / float64(max(1, whole))
}
