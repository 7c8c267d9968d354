package placement

import (
	"fmt"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// Filters are asked of every node in the order of these two lists, and the
// first that refuses is the reason that is counted for the node. What no change
// of load can mend comes before what is busy just now, so that people are told
// the lasting reason. An embedder's own filters come after these.
//
// What a node did not say refuses nothing: an unknown memory, core count, disk
// or list of engines is not an empty one.

// lasting filters look at what a node is, not at what is placed on it.
var lasting = []func(q *query) refusal{
	byState,        // only a node that is heard, and that people want used, takes something new
	byClock,        // a clock that is far off breaks certificates and time limits
	byHold,         // nothing new goes where people hold the place
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
	byFabric,       // a group's nodes share a network, so each must be on one
	byNVLinkDomain, // or are in one NVLink domain
	byIMEX,         // whose service is up
}

// passing filters look at what is given out, here and to the model elsewhere.
var passing = []func(q *query) refusal{
	byFreeDevices,  // devices are nobody else's
	byDeviceMemory, // and have the memory beside what shares them or uses them unasked
	byHostMemory,   // the host has the memory, beside what is kept for its system
	byCores,        // and the cores
	byDisk,         // and the disk for the weights that are not there yet
	byNeighbours,   // nothing runs there that the request stays away from
	bySpread,       // not too many replicas of the model stand in its domain
}

// beforeAvoidance are the reasons of filters that come before byAvoidance.
var beforeAvoidance = []Reason{NotReady, Held, Pool, Labels}

// refusal is why a node is not used; the zero value lets it pass. It holds no
// text: most refusals are only counted, and say makes the sentence for the few
// that are shown.
type refusal struct {
	reason     Reason
	need, have int64
	unit       string
	say        func(q *query, r refusal) string
	// text is a sentence that is there already. Empty: say makes it.
	text string
}

// refuse asks every filter, the embedder's after the built-in ones.
func (q *query) refuse() refusal {
	if r := q.refuseLasting(); r.reason != "" {
		return r
	}
	return q.refusePassing()
}

func (q *query) refuseLasting() refusal {
	for _, f := range lasting {
		if r := f(q); r.reason != "" {
			return r
		}
	}
	return refusal{}
}

func (q *query) refusePassing() refusal {
	for _, f := range passing {
		if r := f(q); r.reason != "" {
			return r
		}
	}
	for _, f := range q.placer.Filters {
		if text := f.Refuse(q.h.node, q.model, q.profile); text != "" {
			return refusal{reason: customPrefix + Reason(f.Name), text: text}
		}
	}
	return refusal{}
}

// sentence is the refusal for people.
func (r refusal) sentence(q *query) string {
	if r.say == nil {
		return r.text
	}
	return r.say(q, r)
}

func byState(q *query) refusal {
	if q.h.node.State() == inventory.StateReady {
		return refusal{}
	}
	return refusal{reason: NotReady, say: func(q *query, _ refusal) string {
		return "is " + string(q.h.node.State())
	}}
}

func byClock(q *query) refusal {
	if q.h.node.Clock() != inventory.ClockWrong {
		return refusal{}
	}
	return refusal{reason: NotReady, say: func(q *query, _ refusal) string {
		way := "ahead"
		if q.h.node.ClockSkew < 0 {
			way = "behind"
		}
		return fmt.Sprintf("its clock is %s %s; more than %s is refused", q.h.node.ClockSkew.Abs(), way, inventory.ClockRefuseAfter)
	}}
}

func byHold(q *query) refusal {
	if !q.h.node.Held.Yes() {
		return refusal{}
	}
	return refusal{reason: Held, text: q.h.node.Held.Reason}
}

func byPool(q *query) refusal {
	if q.h.pool == q.profile.Pool {
		return refusal{}
	}
	return refusal{reason: Pool, say: func(q *query, _ refusal) string {
		is, wants := "is in no pool", "the profile asks for none"
		if p := q.h.pool; p != "" {
			is = "is in pool " + p
		}
		if q.profile.Pool != "" {
			wants = "the profile asks for " + q.profile.Pool
		}
		return is + ", " + wants
	}}
}

func byLabels(q *query) refusal {
	for _, key := range q.labels {
		if q.h.node.Label(key) != q.profile.Labels[key] {
			return refusal{reason: Labels, say: sayLabels}
		}
	}
	return refusal{}
}

func sayLabels(q *query, _ refusal) string {
	var out []string
	for _, key := range q.labels {
		has, wants := q.h.node.Label(key), q.profile.Labels[key]
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

func byAvoidance(q *query) refusal {
	why, avoided := q.avoid[q.h.node.ID]
	if !avoided {
		return refusal{}
	}
	if why == "" {
		why = "is left out of this attempt"
	}
	return refusal{reason: Excluded, text: why}
}

func byEngine(q *query) refusal {
	if has, said := q.h.node.Facts.HasEngine(string(q.profile.Engine), ""); has || !said {
		return refusal{}
	}
	return refusal{reason: EngineMissing, say: func(q *query, _ refusal) string {
		return fmt.Sprintf("needs %s, has %s", q.profile.Engine, engineList(q.h.node))
	}}
}

func byBuild(q *query) refusal {
	if has, said := q.h.node.Facts.HasEngine(string(q.profile.Engine), q.profile.Build); has || !said {
		return refusal{}
	}
	return refusal{reason: BuildMissing, say: func(q *query, _ refusal) string {
		return fmt.Sprintf("needs %s in build %s, has %s", q.profile.Engine, q.profile.Build, engineList(q.h.node))
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
