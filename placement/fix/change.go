package fix

import (
	"cmp"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// change is one step with its effect.
type change struct {
	Do     Do
	Object string
	// tell says what stands in the way there, and what to do: it is asked for
	// what is offered only.
	tell func() (detail, text string)
	// part tells changes of one object apart. Empty: there is only one.
	part string
	// harm tells equals of a kind apart; less is better.
	harm float64
	// nodes are those that it changes, and on is how.
	nodes []inventory.NodeID
	on    func(n *inventory.Node) *inventory.Node
	// domain is the one whose hold it releases. Zero: none.
	domain inventory.Domain
	// edit changes the profile that is the object. Nil: it stays.
	edit func(p *catalog.Profile)
	// ask changes the request. Nil: it stays.
	ask func(req *placement.Request)
	// number is what it makes of a number of the profile. Nil: it changes none.
	number *number
}

func (c *change) rank() int { return slices.Index(order, c.Do) }

// offer is changes that make room, as far as is known.
type offer struct {
	changes []change
	ranks   int // the sum of the changes' ranks
	harm    float64
}

func offerOf(changes ...change) *offer {
	o := &offer{changes: changes}
	for i := range changes {
		o.ranks += changes[i].rank()
		o.harm += changes[i].harm
	}
	return o
}

// compare orders offers: the fewest steps, then the cheapest kinds, then the
// least harm.
func (o *offer) compare(p *offer) int {
	return cmp.Or(cmp.Compare(len(o.changes), len(p.changes)), cmp.Compare(o.ranks, p.ranks), cmp.Compare(o.harm, p.harm))
}

// with joins two offers; what both have is done once.
func (o *offer) with(p *offer) *offer {
	all := slices.Clone(o.changes)
	for _, c := range p.changes {
		same := func(x change) bool { return x.Do == c.Do && x.Object == c.Object && x.part == c.part }
		if !slices.ContainsFunc(all, same) {
			all = append(all, c)
		}
	}
	return offerOf(all...)
}

// has reports whether it has a change of a kind.
func (o *offer) has(do Do, part string) bool {
	return slices.ContainsFunc(o.changes, func(c change) bool { return c.Do == do && c.part == part })
}

// released are the domains whose holds it releases.
func (o *offer) released() []inventory.Domain {
	var out []inventory.Domain
	for i := range o.changes {
		if d := o.changes[i].domain; d != (inventory.Domain{}) {
			out = append(out, d)
		}
	}
	return out
}

// apply makes the changes on the index, which is on trial, and answers the
// request that follows. ok is false when a change cannot be tried; scan says
// that the request is not worth remembering.
func (s *search) apply(o *offer) (req placement.Request, scan, ok bool) {
	req = s.q.Request
	over := o.released()
	for i := range o.changes {
		c := &o.changes[i]
		on := c.on
		if c.Do == Release { // a node may stand under several that go
			on = func(n *inventory.Node) *inventory.Node { return s.without(n, over) }
		}
		for _, id := range c.nodes {
			n := s.x.Node(id)
			if n == nil || !s.x.Update(on(n)) {
				return req, false, false
			}
		}
		if c.ask != nil {
			c.ask(&req)
		}
		if c.edit != nil {
			req.Model, scan = c.model(req.Model), true
		}
	}
	return req, scan, true
}

// model is a copy of a model in which the profile is changed.
func (c *change) model(m *catalog.Model) *catalog.Model {
	out := *m
	out.Profiles = slices.Clone(m.Profiles)
	for i := range out.Profiles {
		if p := &out.Profiles[i]; p.Name == c.Object {
			*p = *c.applied(p)
		}
	}
	return &out
}

// applied is a copy of a profile with the change made.
func (c *change) applied(p *catalog.Profile) *catalog.Profile {
	out := *p
	c.edit(&out)
	return &out
}
