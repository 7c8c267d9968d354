package hub

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// loopback stands for an agent in this process.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Beat takes a beat of an agent that is known to be the node's: over the wire
// by its certificate, in one process by its caller's word.
func (h *Hub) Beat(ctx context.Context, node inventory.NodeID, b protocol.Beat) (protocol.BeatAnswer, error) {
	return h.beat(ctx, caller{node, loopback, h.session(node)}, b)
}

// Sync takes a poll, as Beat takes a beat. It blocks until what is desired of
// the node is another than the agent has, an ask waits for it, or the poll's
// time is over.
func (h *Hub) Sync(ctx context.Context, node inventory.NodeID, in protocol.Sync) (protocol.Desired, error) {
	return h.sync(ctx, caller{node, loopback, h.session(node)}, in)
}

func (h *Hub) beat(_ context.Context, c caller, b protocol.Beat) (protocol.BeatAnswer, error) {
	if err := sameNode(c.node, b.Node); err != nil {
		return protocol.BeatAnswer{}, err
	}
	s := c.session
	s.reports.Lock()
	defer s.reports.Unlock()
	if s.cut.Err() != nil {
		return protocol.BeatAnswer{}, revokedError(c.node)
	}
	h.mu.Lock()
	old := s.overtaken(b.Run, b.Rev)
	want := protocol.WantNothing
	switch {
	case !s.whole:
		want = protocol.WantAll
	case s.facts != b.FactsHash:
		want = protocol.WantFacts
	}
	h.mu.Unlock()
	rep := inventory.Report{Sample: sample(b.Sample), At: b.At}
	if !old {
		rep.Shards = h.shards(c.node, c.peer, b.Shards)
	}
	h.cfg.Registry.Apply(c.node, rep, time.Now())
	if n := h.cfg.Registry.Snapshot().Node(c.node); n != nil && !n.ShardsKnown {
		want = protocol.WantAll // a node that was lost has to say anew what it runs
	}
	ans := protocol.BeatAnswer{SeenSeq: b.Seq, Want: want}
	if addr, here := h.cfg.Leader(); !here {
		ans.Leader = addr
	}
	return ans, nil
}

func (h *Hub) sync(ctx context.Context, c caller, in protocol.Sync) (protocol.Desired, error) {
	if err := sameNode(c.node, in.Node); err != nil {
		return protocol.Desired{}, err
	}
	if addr, here := h.cfg.Leader(); !here {
		return protocol.Desired{}, notLeader(addr)
	}
	s := c.session
	if err := h.takeReport(c, in); err != nil {
		return protocol.Desired{}, err
	}
	in.Facts, in.Shards = nil, nil // what was told is in the registry, and a poll waits for long
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h.beginPoll(s, cancel, in.Run)
	defer h.endPoll(s)
	over := time.NewTimer(h.cfg.Limits.PollAfter)
	defer over.Stop()
	for last := false; ; {
		d, known, wake := h.current(s, c.node, in, last)
		switch {
		case known:
			return d, nil
		case last:
			return d, refuse(protocol.CodeNotReady, "the control plane has just started and does not know yet what is desired; go on and ask again")
		}
		select {
		case <-wake:
		case <-over.C:
			last = true
		case <-s.cut.Done():
			return d, revokedError(c.node)
		case <-ctx.Done():
			return d, refuse(protocol.CodeNotReady, "the poll has ended; a newer one of this node is open, or its connection is gone")
		}
	}
}

func (h *Hub) takeReport(c caller, in protocol.Sync) error {
	s := c.session
	s.reports.Lock()
	defer s.reports.Unlock()
	if s.cut.Err() != nil {
		return revokedError(c.node)
	}
	h.mu.Lock()
	rep := inventory.Report{Whole: !s.overtaken(in.Run, in.Rev)}
	h.mu.Unlock()
	if in.Facts != nil {
		f := h.facts(*in.Facts, c.node, c.peer)
		rep.Facts = &f
	}
	if rep.Whole {
		rep.Shards = h.shardsOf(rep.Facts, c.node, c.peer, in.Shards)
	}
	h.cfg.Registry.Apply(c.node, rep, time.Now())
	h.mu.Lock()
	defer h.mu.Unlock()
	s.whole = s.whole || rep.Whole
	if in.Facts != nil {
		s.facts = in.FactsHash
	}
	return nil
}

func (h *Hub) beginPoll(s *session, cancel context.CancelFunc, run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lose(s.node, run)
	if s.newest != nil {
		s.newest()
	}
	s.newest = cancel
	s.polls++
}

func (h *Hub) endPoll(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.polls--
	s.last = time.Now()
}

// current is what is desired of the node. It is known, and to be sent, when the
// agent has another or asks wait; with anyway, also when it has the same.
func (h *Hub) current(s *session, node inventory.NodeID, in protocol.Sync, anyway bool) (protocol.Desired, bool, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.orders == nil {
		return protocol.Desired{}, false, s.wake
	}
	if h.orders.version(node) == in.Version && h.orders.epoch == in.Epoch && len(s.queue) == 0 && !anyway {
		return protocol.Desired{}, false, s.wake
	}
	d := h.orders.of(node)
	now := time.Now()
	for _, a := range s.queue {
		if now.Before(a.deadline) {
			a.run = in.Run
			d.Asks = append(d.Asks, a.wire())
		}
	}
	s.queue = nil
	return d, true, s.wake
}

// sameNode holds the body to the certificate: a node speaks for itself alone.
func sameNode(node inventory.NodeID, said string) error {
	if said == string(node) {
		return nil
	}
	return refuse(protocol.CodeForbidden, fmt.Sprintf("the message is of node %q and the certificate of %q; a node speaks for itself alone, so join again if it was renamed", text(said, maxName), node))
}

func refuse(code, sentence string) *protocol.Error {
	return &protocol.Error{Code: code, Text: sentence}
}

func notLeader(addr string) *protocol.Error {
	return &protocol.Error{Code: protocol.CodeNotLeader, Leader: addr, Text: "this control plane does not lead; ask the one that does"}
}

func revokedError(node inventory.NodeID) *protocol.Error {
	return refuse(protocol.CodeRevoked, fmt.Sprintf("node %s was removed from the cluster; join again with a new token if it should come back", node))
}
