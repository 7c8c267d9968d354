package placement

import (
	"iter"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Answer is what one node says to a profile.
type Answer struct {
	Node *inventory.Node
	// Reason is the first that speaks against a shard there. Empty: it has room
	// for one, whether or not a whole group finds room.
	Reason Reason
}

// Answers tells what every node says to a profile, in order of id. One that is none
// of the model's own is not remembered. Nothing may change the index meanwhile.
func (x *Index) Answers(req Request, profile *catalog.Profile) iter.Seq[Answer] {
	own := false
	for i := range req.Model.Profiles {
		own = own || &req.Model.Profiles[i] == profile
	}
	if !own {
		return x.askEach(req, profile)
	}
	return func(yield func(Answer) bool) {
		c := x.classFor(req, profile)
		c.catchUp(x)
		for id := range req.Avoid {
			if at, known := x.places[id]; known {
				c.exclude(at)
			}
		}
		defer c.include()
		for at, code := range c.codes {
			a := Answer{Node: x.land.hosts[at].node}
			if code != 0 {
				a.Reason = c.reason(code)
			}
			if !yield(a) {
				return
			}
		}
	}
}

func (x *Index) askEach(req Request, profile *catalog.Profile) iter.Seq[Answer] {
	return func(yield func(Answer) bool) {
		q := newQuery(x.placer, req, profile).in(x.land, newStanding(x.land, req.Model))
		q.brief = true
		for at := range x.land.hosts {
			q.see(at)
			if !yield(Answer{Node: q.h.node, Reason: q.refuse().reason}) {
				return
			}
		}
	}
}

// Scan is Choose without remembering anything of the profiles, for a request
// that is asked once: it costs a look at every node.
func (x *Index) Scan(req Request) (Decision, Trace) { return x.land.choose(x.version, req, nil) }

// Asking puts a profile's question to nodes as they might be. It belongs to its
// index and holds until that changes.
type Asking struct {
	x *Index
	q *query
	h host
}

// Ask begins to ask for a profile, which may be none of the model's own.
func (x *Index) Ask(req Request, profile *catalog.Profile) *Asking {
	return &Asking{x: x, q: newQuery(x.placer, req, profile).in(x.land, x.followed(req.Model).stands)}
}

// Node is why a node would take no shard if it were as n is; the empty reason:
// it would. The numbers are those of [Rejection]. A node that the index does not
// know answers [Excluded]. It is taken to stand where it stands.
func (a *Asking) Node(n *inventory.Node) (reason Reason, need, have int64) {
	at, known := a.x.places[n.ID]
	if !known {
		return Excluded, 0, 0
	}
	a.h.fill(n, true)
	a.x.land.measurer.tellApart(&a.h)
	a.q.see(int(at))
	a.q.h = &a.h
	r := a.q.refuse()
	return r.reason, r.need, r.have
}

// Shared lists what the shards of a group may share that a node is in, as
// numbers of the index; one and the same number where they need share nothing.
func (a *Asking) Shared(id inventory.NodeID) []int32 {
	at, known := a.x.places[id]
	if !known {
		return nil
	}
	if !a.q.bound() {
		return []int32{-1}
	}
	var out []int32
	for _, d := range a.x.land.hosts[at].domains {
		if a.q.within(a.x.land.domains[d].key) {
			out = append(out, d)
		}
	}
	return out
}

// Sharing is what the shards of the profile must share, for people: "one
// fabric".
func (a *Asking) Sharing() string { return a.q.shared() }
