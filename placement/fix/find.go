package fix

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// Find looks for the smallest change that makes room for a request: the fewest
// steps, then the cheapest kinds in the order of the list, then the least harm,
// then the first profile and node. Wherever one step does, it finds one; where
// several are needed, it may know of more than the fewest.
//
// When there is none, ok is false and why says so in a sentence. A request that
// finds room as things are needs no fix. The index is afterwards what it was.
func Find(x *placement.Index, q Question) (f Fix, why string, ok bool) {
	s := &search{x: x, q: q}
	if d, _ := x.Choose(q.Request); d.Placed {
		return Fix{}, fmt.Sprintf("%s finds room as things are.", q.Request.Model.Name), false
	}
	s.askFor()
	for p := range s.profiles(q.Request) {
		s.lookAt(q.Request, p, offerOf())
	}
	if f, ok = s.proven(enough); ok {
		return f, "", true
	}
	s.widen()
	if f, ok = s.proven(math.MaxInt); ok {
		return f, "", true
	}
	return Fix{}, s.whyNot(), false
}

// enough is how many steps are so few that nothing else is looked at.
const enough = 2

// proven is the best of the offers with at most so many steps that the placer
// bears out.
func (s *search) proven(steps int) (Fix, bool) {
	for _, o := range s.offers {
		if len(o.changes) > steps {
			break
		}
		if d, proven := s.prove(o); proven {
			return s.nearest(o, d), true
		}
	}
	return Fix{}, false
}

// profiles are those that a request asks for.
func (s *search) profiles(req placement.Request) iter.Seq[*catalog.Profile] {
	return func(yield func(p *catalog.Profile) bool) {
		for i := range req.Model.Profiles {
			p := &req.Model.Profiles[i]
			if p.Managed() && (req.Profiles == nil || slices.Contains(req.Profiles, p.Name)) && !yield(p) {
				return
			}
		}
	}
}

// widen looks at nodes once more as they are when something is changed that is of
// no node: another request, or other numbers in a profile.
func (s *search) widen() {
	req := s.q.Request
	for p := range s.profiles(req) {
		for _, c := range farthest(p) {
			s.lookAt(req, c.applied(p), offerOf(c))
		}
	}
	if len(req.Avoid) > 0 {
		c := s.retry()
		c.ask(&req)
		for p := range s.profiles(req) {
			s.lookAt(req, p, offerOf(c))
		}
	}
	if req = s.q.Request; req.Profiles != nil {
		all := req
		all.Profiles = nil
		for p := range s.profiles(all) {
			if !slices.Contains(req.Profiles, p.Name) {
				s.lookAt(all, p, offerOf(allow(p.Name)))
			}
		}
	}
}

// search is one call of Find at work.
type search struct {
	x *placement.Index
	q Question
	// standing are the replicas that may be proposed to stop, by id.
	standing map[string]*stander
	// held are the nodes that a hold holds, by its domain.
	held map[inventory.Domain][]inventory.NodeID
	// offers are the best so far, the best first.
	offers []*offer
	trials int
	looked []*looking
}

// stander is a replica that may be proposed to stop.
type stander struct {
	*placement.Occupant
	nodes   []inventory.NodeID
	devices int
}

// locate finds who may be proposed to stop, where they stand, and what is held.
func (s *search) locate(members []member) {
	s.standing, s.held = make(map[string]*stander, len(s.q.Standing)), map[inventory.Domain][]inventory.NodeID{}
	m := s.q.Request.Model
	all := make([]stander, len(s.q.Standing))
	for i := range s.q.Standing {
		if o := &s.q.Standing[i]; o.Class.Rank() <= m.Class.Rank() && o.Model != m.Name {
			all[i].Occupant = o
			s.standing[o.Replica] = &all[i]
		}
	}
	for i := range members {
		n := members[i].node
		if n.Held.Yes() {
			s.held[n.Held.Domain] = append(s.held[n.Held.Domain], n.ID)
		}
		for k := range s.q.Holds {
			if d := s.q.Holds[k].Domain; d != n.Held.Domain && d.Holds(n) {
				s.held[d] = append(s.held[d], n.ID)
			}
		}
		for k := range n.Allocations {
			if o := s.standing[n.Allocations[k].Replica]; o != nil {
				o.stands(n.ID, len(n.Allocations[k].Devices))
			}
		}
	}
}

// stands notes a shard. Nodes come in order.
func (o *stander) stands(on inventory.NodeID, devices int) {
	if last := len(o.nodes) - 1; last < 0 || o.nodes[last] != on {
		o.nodes = append(o.nodes, on)
	}
	o.devices += devices
}

// offer keeps what may make room while it is among the best.
func (s *search) offer(o *offer) {
	at, _ := slices.BinarySearchFunc(s.offers, o, func(has, o *offer) int {
		if c := has.compare(o); c != 0 {
			return c
		}
		return -1 // who came first is first
	})
	if s.offers = slices.Insert(s.offers, at, o); len(s.offers) > mostProofs {
		s.offers = s.offers[:mostProofs]
	}
}

// best is the best so far; nil when there is none.
func (s *search) best() *offer {
	if len(s.offers) == 0 {
		return nil
	}
	return s.offers[0]
}

// prove asks the placer on a copy with the changes made.
func (s *search) prove(o *offer) (d placement.Decision, proven bool) {
	s.x.Try(func() {
		req, scan, ok := s.apply(o)
		switch {
		case !ok:
		case scan:
			d, _ = s.x.Scan(req)
		default:
			d, _ = s.x.Choose(req)
		}
	})
	return d, d.Placed
}

// askFor offers what changes the request alone: profiles that it leaves out, and
// nodes that it avoids.
func (s *search) askFor() {
	req := &s.q.Request
	if req.Profiles != nil {
		all := *req
		all.Profiles = nil
		if d, _ := s.x.Choose(all); d.Placed {
			s.offer(offerOf(allow(d.Candidate.Profile)))
		}
	}
	if len(req.Avoid) == 0 {
		return
	}
	all := *req
	all.Avoid = nil
	if d, _ := s.x.Choose(all); d.Placed {
		s.offer(offerOf(s.retry()))
	}
}

func allow(profile string) change {
	return change{
		Do: Allow, Object: profile,
		tell: func() (detail, text string) {
			return "the request leaves it out", "let profile " + profile + " be used"
		},
		ask: func(req *placement.Request) { req.Profiles = nil },
	}
}

func (s *search) retry() change {
	name := string(s.q.Request.Model.Name)
	return change{
		Do: Retry, Object: name,
		tell: func() (detail, text string) {
			return counted(len(s.q.Request.Avoid)) + " left out, since a start failed there", "retry model " + name
		},
		ask: func(req *placement.Request) { req.Avoid = nil },
	}
}

// looking is the search for one profile, with what is done already.
type looking struct {
	*search
	req     placement.Request
	done    *offer
	profile *catalog.Profile
	ask     *placement.Asking
	members []member
	counts  map[placement.Reason]int
	teams   [][]int // places of members that a group may be made of
	asks    int     // how often a node was asked as it might be
}

// member is a node with its answer, and the least that has to be done for a
// shard there; nil when nothing helps, or it was not worth asking.
type member struct {
	node   *inventory.Node
	reason placement.Reason
	least  *offer
}

// lookAt finds what would make room for a profile, beside what is done.
func (s *search) lookAt(req placement.Request, p *catalog.Profile, done *offer) {
	l := &looking{search: s, req: req, done: done, profile: p, ask: s.x.Ask(req, p), counts: map[placement.Reason]int{}}
	if len(done.changes) == 0 {
		s.looked = append(s.looked, l)
	}
	for a := range s.x.Answers(req, p) {
		l.members = append(l.members, member{node: a.Node, reason: a.Reason})
		l.counts[a.Reason]++
	}
	if s.standing == nil {
		s.locate(l.members)
	}
	group := p.ShardCount() > 1
	l.team()
	if group {
		l.together()
	}
	l.lowerAll()
	l.raiseIt()
	for i := range l.members {
		m := &l.members[i]
		if m.reason == "" {
			m.least = done
			continue
		}
		if m.least = l.mendAll(m.node, m.reason); m.least != nil && !group {
			s.offer(m.least)
		}
	}
	if group {
		l.gather()
	}
}
