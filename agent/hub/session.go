package hub

import (
	"context"
	"crypto/x509"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"llmgw.io/llmgw/inventory"
)

// session is what the hub knows of one node's agent since this process started.
// The hub's lock guards it, but for node, limit, open and cut.
type session struct {
	node  inventory.NodeID
	limit *rate.Limiter
	// open are exchanges that run now.
	open atomic.Int32
	// cut ends with the session: every exchange of the node ends with it.
	cut context.Context //nolint:containedctx // the session is what the context is the life of
	end context.CancelFunc

	// reports is held while a report goes to the registry, so that none
	// overtakes another there. It is taken before the hub's lock.
	reports sync.Mutex
	// shown is the newest certificate of the node that was found good. Nil: none.
	shown *x509.Certificate
	// run and rev are of the newest list of shards that was taken.
	run string
	rev uint64
	// facts is the hash of the facts last received; whole says that a whole
	// list of shards was.
	facts string
	whole bool
	// polls counts polls open now; last is when one was open.
	polls int
	last  time.Time
	// wake is closed and replaced when an open poll has something new to look at.
	wake chan struct{}
	// newest ends an older poll when a newer one comes: the older is of a
	// connection that died without a word, and must not take the asks.
	newest context.CancelFunc
	// queue are asks that wait for a poll.
	queue []*ask
}

// session finds the node's, or begins one.
func (h *Hub) session(node inventory.NodeID) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[node]
	if s == nil {
		s = &session{
			node:  node,
			limit: rate.NewLimiter(rate.Limit(h.cfg.Limits.PerSecond), h.cfg.Limits.Burst),
			wake:  make(chan struct{}),
		}
		s.cut, s.end = context.WithCancel(context.Background())
		h.sessions[node] = s
	}
	return s
}

// overtaken reports whether a list of shards is older than one that was taken:
// beats and polls travel apart. It is called with the hub's lock held.
func (s *session) overtaken(run string, rev uint64) bool {
	if run != "" && run == s.run && rev < s.rev {
		return true
	}
	s.run, s.rev = run, rev
	return false
}

// rouse wakes the open poll. It is called with the hub's lock held.
func (s *session) rouse() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// lingers is for how long an agent counts as connected after its last poll: it
// has another one open in a moment.
const lingers = 10 * time.Second

// connected is called with the hub's lock held.
func (s *session) connected(now time.Time) bool {
	return s.polls > 0 || now.Sub(s.last) < lingers
}

// revoked is which nodes' certificates are refused, and from when on.
type revoked struct {
	mu     sync.Mutex
	loaded bool
	// ofStore is the store's list; here is what this process was told and the
	// store may not have shown yet.
	ofStore, here map[inventory.NodeID]time.Time
}

// at is when the node was last revoked; zero: never.
func (r *revoked) at(node inventory.NodeID) (at time.Time, loaded bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at = r.ofStore[node]
	if t := r.here[node]; t.After(at) {
		at = t
	}
	return at, r.loaded
}

func (r *revoked) add(node inventory.NodeID, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.After(r.here[node]) {
		r.here[node] = at
	}
}

// load replaces the store's list and returns the nodes that are new in it.
func (r *revoked) load(list []inventory.Revocation) (fresh []inventory.NodeID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := make(map[inventory.NodeID]time.Time, len(list))
	for _, v := range list {
		next[v.Node] = v.At
		if r.loaded && v.At.After(r.ofStore[v.Node]) && v.At.After(r.here[v.Node]) {
			fresh = append(fresh, v.Node)
		}
	}
	r.ofStore, r.loaded = next, true
	return fresh
}

// recheck reads the store's revocations and cuts off who is new among them.
func (h *Hub) recheck(ctx context.Context) error {
	list, err := h.cfg.Enrolment.Revocations(ctx)
	if err != nil {
		return err
	}
	for _, node := range h.list.load(list) {
		h.log.Info("node cut off, as it was removed elsewhere", "node", node)
		h.cut(node)
	}
	return nil
}
