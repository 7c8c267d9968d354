package inventory

import (
	"cmp"
	"reflect"
	"slices"
	"time"
)

// Report is one message of an agent, as far as the registry is concerned. Nil
// fields leave what is known alone.
type Report struct {
	Facts *Facts
	// Shards is the whole list when Whole, else those that changed.
	Shards []ShardStatus
	Whole  bool
	Sample *Sample
	// At is the agent's clock. Zero: it did not say.
	At time.Time
}

// effect is what a report changes, as far as others are concerned.
type effect int

const (
	// effectNone: only the time at which the node was last seen.
	effectNone effect = iota
	// effectLater: a measurement, worth a look with the next Tick. Each node brings
	// one every few seconds, and decisions are not so fine.
	effectLater
	// effectSeen: something worth a look that spoils no decision.
	effectSeen
	// effectDecisive: what decisions rest on.
	effectDecisive
)

// beat is what a report without news leaves behind.
type beat struct {
	at   time.Time
	skew time.Duration
	// sample came at sampleAt. Nil: none came since the last Tick.
	sample   *Sample
	sampleAt time.Time
}

// with is what is left behind when another beat follows.
func (b beat) with(n *Node, sample *Sample) beat {
	b.at, b.skew = n.LastSeen, n.ClockSkew
	if sample != nil {
		b.sample, b.sampleAt = sample, n.LastSeen
	}
	return b
}

// measure gives a node the measurement that was left behind.
func (b beat) measure(n *Node) {
	if b.sample != nil {
		n.Sample, n.SampleAt = b.sample, b.sampleAt
	}
}

// apply returns the node as it is after a report.
func (rep Report) apply(old *Node, now time.Time) (*Node, effect) {
	next, did := *old, effectNone
	next.Hearing, next.LastSeen = Heard, now
	if old.Hearing == Lost {
		// What ran there may be gone, and other replicas in its place: only a
		// whole list says what there is.
		next.Shards, next.ShardsKnown = nil, false
	}
	if old.Hearing != Heard {
		did = effectDecisive
	}
	if rep.Facts != nil && !reflect.DeepEqual(*rep.Facts, old.Facts) {
		next.Facts, did = *rep.Facts, effectDecisive
	}
	if !rep.At.IsZero() {
		next.ClockSkew = rep.At.Sub(now)
		did = max(did, clockEffect(old.Clock(), next.Clock()))
	}
	if rep.Whole || len(rep.Shards) > 0 {
		next.Shards = rep.shards(next.Shards)
		next.ShardsKnown = next.ShardsKnown || rep.Whole
		if next.ShardsKnown != old.ShardsKnown || !reflect.DeepEqual(next.Shards, old.Shards) {
			did = max(did, effectSeen)
		}
	}
	if rep.Sample != nil {
		next.Sample, next.SampleAt = rep.Sample, now
		did = max(did, effectLater)
	}
	return &next, did
}

// shards is the list after the report, ordered by id. Only a whole list says
// that a shard is gone.
func (rep Report) shards(old []ShardStatus) []ShardStatus {
	byID := func(a, b ShardStatus) int { return cmp.Compare(a.ID, b.ID) }
	said := slices.Clone(rep.Shards)
	slices.SortStableFunc(said, byID)
	if rep.Whole {
		return slices.Clip(said)
	}
	out := slices.Clone(old)
	for _, s := range said {
		i, found := slices.BinarySearchFunc(out, s, byID)
		if found {
			out[i] = s
		} else {
			out = slices.Insert(out, i, s)
		}
	}
	return out
}

func clockEffect(old, next Clock) effect {
	switch {
	case old == next:
		return effectNone
	case old == ClockWrong || next == ClockWrong:
		return effectDecisive
	}
	return effectSeen
}

// unheard is a node of which nothing but its settings is known. It counts as
// unreachable, which keeps what runs there from being started again elsewhere.
func unheard(s NodeSettings) *Node {
	return &Node{ID: s.Node, Settings: s, Hearing: Unreachable}
}
