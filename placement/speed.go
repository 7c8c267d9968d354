package placement

import (
	"maps"

	"llmgw.io/llmgw/inventory"
)

// Speeds are how quick replicas of a model were measured to be, by node. They part nodes that lose equally, and no others: what a node is worth
// beside that is the score's. They do not change; measure again and make new ones.
type Speeds struct {
	of   map[inventory.NodeID]float64
	best float64
	// mean stands for a node that was not measured: it is not thought slow.
	mean float64
}

// NewSpeeds makes speeds of tokens a second. What is zero or less is left out.
// With nothing left the answer is nil, as for a request without.
func NewSpeeds(measured map[inventory.NodeID]float64) *Speeds {
	s := &Speeds{of: maps.Clone(measured)}
	maps.DeleteFunc(s.of, func(_ inventory.NodeID, v float64) bool { return !(v > 0) })
	if len(s.of) == 0 {
		return nil
	}
	low := 0.0
	for _, v := range s.of {
		s.best = max(s.best, v)
		if low == 0 || v < low {
			low = v
		}
	}
	// In the middle of the range, so that no order of summing matters.
	s.mean = (s.best + low) / 2
	return s
}

// SlowerBy makes speeds of how many times slower than usual a model is on nodes: 2
// is half as quick. One that is not named, or with zero or less, is as usual.
// With nothing left the answer is nil, as for a request without.
func SlowerBy(times map[inventory.NodeID]float64) *Speeds {
	s := &Speeds{of: make(map[inventory.NodeID]float64, len(times)), best: 1, mean: 1}
	for node, t := range times {
		if t > 0 {
			s.of[node] = 1 / t
			s.best = max(s.best, 1/t)
		}
	}
	if len(s.of) == 0 {
		return nil
	}
	return s
}

// slower is how far a node stays behind the quickest, from 0 to 1.
func (s *Speeds) slower(id inventory.NodeID) float64 {
	v, known := s.of[id]
	if !known {
		v = s.mean
	}
	return 1 - v/s.best
}

// speedLoss parts near equals, in device-seconds.
func (q *query) speedLoss() float64 {
	if q.speeds == nil {
		return 0
	}
	return hair * q.speeds.slower(q.h.node.ID)
}
