package fleetsim

import (
	"maps"
	"slices"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// report is what an agent sends: a beat with what changed, or a poll with all.
type report struct {
	run      int
	rev      uint64
	whole    bool
	shards   []inventory.ShardStatus
	facts    *inventory.Facts
	factsNew bool
	// Of polls alone.
	poll    int
	epoch   int64
	version uint64
}

// desired is the answer to a poll. known is false while the control plane has
// not loaded what was ordered: an empty list would empty the node.
type desired struct {
	known   bool
	epoch   int64
	version uint64
	shards  []order
}

// hub is a control plane's end of the agents, as package agent/hub has it.
type hub struct {
	sessions map[inventory.NodeID]*session
	// loaded: something was dispatched. orders are what is desired, by node.
	loaded bool
	orders map[inventory.NodeID]*nodeOrders
}

// session is what is known of one node's agent.
type session struct {
	run   int
	rev   uint64
	whole bool
	// open is the poll that waits for an answer; nil: none.
	open *report
}

type nodeOrders struct {
	version uint64
	shards  []order
}

func newHub() hub {
	return hub{sessions: map[inventory.NodeID]*session{}, orders: map[inventory.NodeID]*nodeOrders{}}
}

func (h *hub) session(id inventory.NodeID) *session {
	s := h.sessions[id]
	if s == nil {
		s = &session{}
		h.sessions[id] = s
	}
	return s
}

// overtaken reports whether a list is older than one that was taken.
func (s *session) overtaken(run int, rev uint64) bool {
	if run < s.run || run == s.run && rev < s.rev {
		return true
	}
	s.run, s.rev = run, rev
	return false
}

// heardBeat takes a beat, and lets the agent know what was taken.
func (c *control) heardBeat(a *agent, b report) {
	if c.postponed(func() { c.heardBeat(a, b) }) {
		return
	}
	s := c.hub.session(a.id)
	rep := inventory.Report{At: c.s.now}
	if !s.overtaken(b.run, b.rev) {
		rep.Shards = b.shards
	}
	c.fleet.Apply(a.id, rep, c.s.now)
	c.news()
	n := c.fleet.Snapshot().Node(a.id)
	wantsFacts := !s.whole && s.open == nil || n != nil && !n.ShardsKnown
	if len(b.shards) == 0 && !wantsFacts {
		if a.isRun(b.run) && !a.isCut(c.s.now) {
			a.heardAt = c.s.now
		}
		return
	}
	c.s.send(a, func() {
		if !a.isRun(b.run) {
			return
		}
		a.answered(b.rev)
		if wantsFacts && !a.factsNew {
			a.hurryPoll()
		}
	})
}

// heardPoll takes a poll, and answers when the agent has another version than
// what is desired, or when its time is over.
func (c *control) heardPoll(a *agent, in report) {
	if c.postponed(func() { c.heardPoll(a, in) }) {
		return
	}
	s := c.hub.session(a.id)
	rep := inventory.Report{Facts: in.facts, Whole: !s.overtaken(in.run, in.rev)}
	if rep.Whole {
		rep.Shards, s.whole = in.shards, true
	}
	c.fleet.Apply(a.id, rep, c.s.now)
	c.news()
	s.open = &in
	open := s.open
	if d := c.desired(a.id); d.known && (d.version != in.version || d.epoch != in.epoch) {
		c.answer(a, s)
		return
	}
	c.s.after(pollAfter, func() {
		if s.open == open && c.alive {
			c.answer(a, s)
		}
	})
}

// answer sends the whole of what is desired.
func (c *control) answer(a *agent, s *session) {
	if c.postponed(func() { c.answer(a, s) }) || s.open == nil {
		return
	}
	in, d := *s.open, c.desired(a.id)
	s.open = nil
	c.s.send(a, func() { a.told(in, d) })
}

func (c *control) desired(id inventory.NodeID) desired {
	n := c.hub.orders[id]
	if n == nil {
		return desired{known: c.hub.loaded, epoch: c.epoch, version: 1}
	}
	return desired{known: c.hub.loaded, epoch: c.epoch, version: n.version, shards: n.shards}
}

// dispatch makes the replicas what is desired, whole, and answers the polls of
// the nodes that it changes.
func (c *control) dispatch(replicas []reconciler.Replica) {
	next := map[inventory.NodeID][]order{}
	for i := range replicas {
		r := &replicas[i]
		for _, sh := range r.Shards {
			next[sh.Spot.Node] = append(next[sh.Spot.Node], order{
				shard: string(sh.ID), replica: r, rank: sh.Rank, spot: sh.Spot, want: r.Phase,
			})
		}
	}
	first := !c.hub.loaded
	c.hub.loaded = true
	for id := range c.hub.orders {
		if _, still := next[id]; !still {
			next[id] = nil
		}
	}
	for _, id := range slices.Sorted(maps.Keys(next)) {
		slices.SortFunc(next[id], func(x, y order) int { return cmpShard(x.shard, y.shard) })
		c.orderNode(id, next[id], first)
	}
	if first {
		c.answerAll()
	}
}

// orderNode gives a node its list, with a version that rises with each change
// within an epoch. One is the empty list.
func (c *control) orderNode(id inventory.NodeID, list []order, first bool) {
	was := c.hub.orders[id]
	switch {
	case was == nil && first:
		c.hub.orders[id] = &nodeOrders{version: 1, shards: list}
		return
	case was == nil:
		c.hub.orders[id] = &nodeOrders{version: 2, shards: list}
	case slices.EqualFunc(was.shards, list, order.same):
		was.shards = list
		return
	default:
		c.hub.orders[id] = &nodeOrders{version: was.version + 1, shards: list}
	}
	if s := c.hub.sessions[id]; s != nil && s.open != nil && !first {
		c.answer(c.s.agents[id], s)
	}
}

func (c *control) answerAll() {
	for _, id := range slices.Sorted(maps.Keys(c.hub.sessions)) {
		if s := c.hub.sessions[id]; s.open != nil {
			c.answer(c.s.agents[id], s)
		}
	}
}

func cmpShard(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// postponed reports that nobody is there to do it now: never again when the
// process is gone, once it goes on when it stands still.
func (c *control) postponed(do func()) bool {
	switch {
	case !c.alive:
		return true
	case c.s.now.Before(c.stalledUntil):
		c.s.at(c.stalledUntil.Add(time.Microsecond), do)
		return true
	}
	return false
}
