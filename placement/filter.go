package placement

import (
	"fmt"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// filters are asked of every node in this order, and the first that refuses is
// the reason that is counted for the node. What no change of load can mend
// comes before what is busy just now, so that people are told the lasting
// reason. An embedder's own filters come after these.
//
// What a node did not say refuses nothing: an unknown memory, core count, disk
// or list of engines is not an empty one.
var filters = []func(q *query, n *inventory.Node) refusal{
	byGroup,        // a profile of several shards needs several nodes at once
	byState,        // only a node that is heard, and that people want used, takes something new
	byClock,        // a clock that is far off breaks certificates and time limits
	byHold,         // nothing new goes to a place that people hold
	byPool,         // a node in a pool serves what asks for the pool, and nothing else
	byLabels,       // the profile's labels are all there
	byAvoidance,    // the request leaves the node out, because a start failed there
	byEngine,       // the engine is installed
	byBuild,        // in the build that the profile names
	byClass,        // it has devices of the class
	byNumber,       // and as many as are asked for
	byMIG,          // instances of cards serve one replica each, and form no group
	byCapability,   // devices are new enough for the profile
	byDeviceSize,   // and large enough
	byHealth,       // and healthy
	byFreeDevices,  // and nobody else's
	byDeviceMemory, // and have the memory beside what shares them or uses them unasked
	byHostMemory,   // the host has the memory, beside what is kept for its system
	byCores,        // and the cores
	byDisk,         // and the disk for the weights that are not there yet
	bySpread,       // not too many replicas of the model stand in its domain
}

// refusal is why a node is not used; the zero value lets it pass. It holds no
// text: most refusals are only counted, and say makes the sentence for the few
// that are shown.
type refusal struct {
	reason     Reason
	need, have int64
	unit       string
	say        func(q *query, n *inventory.Node, r refusal) string
	// text is a sentence that is there already. Empty: say makes it.
	text string
}

// refuse asks every filter, the embedder's after the built-in ones.
func (q *query) refuse(n *inventory.Node) refusal {
	for _, f := range filters {
		if r := f(q, n); r.reason != "" {
			return r
		}
	}
	for _, f := range q.placer.Filters {
		if text := f.Refuse(n, q.model, q.profile); text != "" {
			return refusal{reason: customPrefix + Reason(f.Name), text: text}
		}
	}
	return refusal{}
}

// sentence is the refusal for people.
func (r refusal) sentence(q *query, n *inventory.Node) string {
	if r.say == nil {
		return r.text
	}
	return r.say(q, n, r)
}

func byGroup(q *query, _ *inventory.Node) refusal {
	if shards := q.profile.ShardCount(); shards > 1 {
		return refusal{reason: GroupShape, need: int64(shards), have: 1, unit: "nodes", text: "groups across nodes are not placed yet; use a profile with one shard"}
	}
	return refusal{}
}

func byState(_ *query, n *inventory.Node) refusal {
	if n.State() == inventory.StateReady {
		return refusal{}
	}
	return refusal{reason: NotReady, say: func(_ *query, n *inventory.Node, _ refusal) string {
		return "is " + string(n.State())
	}}
}

func byClock(_ *query, n *inventory.Node) refusal {
	if n.Clock() != inventory.ClockWrong {
		return refusal{}
	}
	return refusal{reason: NotReady, say: func(_ *query, n *inventory.Node, _ refusal) string {
		way := "ahead"
		if n.ClockSkew < 0 {
			way = "behind"
		}
		return fmt.Sprintf("its clock is %s %s; more than %s is refused", n.ClockSkew.Abs(), way, inventory.ClockRefuseAfter)
	}}
}

func byHold(_ *query, n *inventory.Node) refusal {
	if !n.Held.Yes() {
		return refusal{}
	}
	return refusal{reason: Held, say: func(_ *query, n *inventory.Node, _ refusal) string { return n.Held.Reason }}
}

func byPool(q *query, n *inventory.Node) refusal {
	if n.Pool() == q.profile.Pool {
		return refusal{}
	}
	return refusal{reason: Pool, say: func(q *query, n *inventory.Node, _ refusal) string {
		is, wants := "is in no pool", "the profile asks for none"
		if p := n.Pool(); p != "" {
			is = "is in pool " + p
		}
		if q.profile.Pool != "" {
			wants = "the profile asks for " + q.profile.Pool
		}
		return is + ", " + wants
	}}
}

func byLabels(q *query, n *inventory.Node) refusal {
	for _, key := range q.labels {
		if n.Label(key) != q.profile.Labels[key] {
			return refusal{reason: Labels, say: sayLabels}
		}
	}
	return refusal{}
}

func sayLabels(q *query, n *inventory.Node, _ refusal) string {
	var out []string
	for _, key := range q.labels {
		has, wants := n.Label(key), q.profile.Labels[key]
		if has == wants {
			continue
		}
		if has == "" {
			out = append(out, fmt.Sprintf("has no label %s, wants %q", key, wants))
		} else {
			out = append(out, fmt.Sprintf("label %s is %q, wants %q", key, has, wants))
		}
	}
	return strings.Join(out, "; ")
}

func byAvoidance(q *query, n *inventory.Node) refusal {
	why, avoided := q.avoid[n.ID]
	if !avoided {
		return refusal{}
	}
	if why == "" {
		why = "is left out of this attempt"
	}
	return refusal{reason: Excluded, text: why}
}

func byEngine(q *query, n *inventory.Node) refusal {
	if has, said := n.Facts.HasEngine(string(q.profile.Engine), ""); has || !said {
		return refusal{}
	}
	return refusal{reason: EngineMissing, say: func(q *query, n *inventory.Node, _ refusal) string {
		return fmt.Sprintf("needs %s, has %s", q.profile.Engine, engineList(n))
	}}
}

func byBuild(q *query, n *inventory.Node) refusal {
	if has, said := n.Facts.HasEngine(string(q.profile.Engine), q.profile.Build); has || !said {
		return refusal{}
	}
	return refusal{reason: BuildMissing, say: func(q *query, n *inventory.Node, _ refusal) string {
		return fmt.Sprintf("needs %s in build %s, has %s", q.profile.Engine, q.profile.Build, engineList(n))
	}}
}

func engineList(n *inventory.Node) string {
	if len(n.Facts.Engines) == 0 {
		return "no engine"
	}
	var out []string
	for _, e := range n.Facts.Engines {
		if e.Build != "" {
			e.Name += ":" + e.Build
		}
		out = append(out, e.Name)
	}
	return strings.Join(out, ", ")
}
