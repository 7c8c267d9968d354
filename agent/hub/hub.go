package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// Config is what a Hub needs.
type Config struct {
	// Registry hears what agents say. Required.
	Registry Registry
	// Enrolment keeps tokens and certificates. Required.
	Enrolment Enrolment
	// CA signs certificates. Required.
	CA *pki.CA
	// EngineKey gives the key that a replica's engines must ask of their
	// callers. Required; it must give the same key for the same replica.
	EngineKey func(replica string) string
	// Prefetches says which weights nodes are to have though no replica runs there. It
	// must not block. Nil: none.
	Prefetches func(*inventory.Snapshot) []reconciler.Prefetch
	// Control are the addresses agents are told to use ("https://host:7443").
	// Empty: the one they used.
	Control []string
	// Leader says where agents should go instead: the leader's address, empty
	// when it is not known, and whether this process leads. Nil: it always leads.
	Leader func() (address string, here bool)
	// Cut is told of a node that was cut off: it was removed, here or elsewhere, or
	// another machine has joined by its name. Nothing is heard of it any more then, and
	// its certificates are refused. Nil: nobody wants to know.
	Cut func(node inventory.NodeID)
	// Limits bound what one agent may cost. The zero value has the defaults.
	Limits Limits
	// Logger nil is silent.
	Logger *slog.Logger
}

// Limits bound what one agent may cost. Zero means the default.
type Limits struct {
	// PerSecond and Burst bound the requests of one node: 20 and 60.
	PerSecond, Burst int
	// Joins bounds attempts to join in a second, of all machines together: 5.
	Joins int
	// Asks is how many questions may wait for one node: 16.
	Asks int
	// AskWait is how long an agent may take to begin an answer: 15 s.
	AskWait time.Duration
	// LogTime and LogBytes bound one log that is shown: 1 h, 64 MiB.
	LogTime  time.Duration
	LogBytes int64
	// PollAfter is when a poll is answered though nothing changed: 25 s.
	PollAfter time.Duration
	// Recheck is how often revocations are read from the store: 5 s.
	Recheck time.Duration
}

func (l Limits) withDefaults() Limits {
	set := func(at *int, def int) {
		if *at == 0 {
			*at = def
		}
	}
	span := func(at *time.Duration, def time.Duration) {
		if *at == 0 {
			*at = def
		}
	}
	set(&l.PerSecond, 20)
	set(&l.Burst, 60)
	set(&l.Joins, 5)
	set(&l.Asks, 16)
	span(&l.AskWait, 15*time.Second)
	span(&l.LogTime, time.Hour)
	span(&l.PollAfter, protocol.PollAfter)
	span(&l.Recheck, 5*time.Second)
	if l.LogBytes == 0 {
		l.LogBytes = 64 << 20
	}
	return l
}

// Hub is the control plane's end of the agents.
type Hub struct {
	cfg   Config
	log   *slog.Logger
	trust *pki.Trust
	joins *rate.Limiter
	list  revoked

	// dispatching keeps orders one after the other. It is taken before mu.
	dispatching sync.Mutex
	// written are the replicas that were last dispatched, as agents read them.
	written map[reconciler.ReplicaID]*written
	turn    uint64

	mu       sync.Mutex
	sessions map[inventory.NodeID]*session
	// orders is what was last dispatched; nil until the first Dispatch, which alone
	// changes it, under both locks.
	orders *orders
	// asks are those whose answers are awaited, by id.
	asks map[string]*ask
}

// New checks the configuration.
func New(cfg Config) (*Hub, error) {
	var errs []error
	for _, m := range []struct {
		missing bool
		name    string
	}{
		{cfg.Registry == nil, "Registry"},
		{cfg.Enrolment == nil, "Enrolment"},
		{cfg.CA == nil, "CA"},
		{cfg.EngineKey == nil, "EngineKey"},
	} {
		if m.missing {
			errs = append(errs, fmt.Errorf("hub: Config.%s is missing", m.name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Leader == nil {
		cfg.Leader = func() (string, bool) { return "", true }
	}
	if cfg.Cut == nil {
		cfg.Cut = func(inventory.NodeID) {}
	}
	cfg.Limits = cfg.Limits.withDefaults()
	return &Hub{
		cfg: cfg, log: cfg.Logger, trust: cfg.CA.Trust(),
		joins:    rate.NewLimiter(rate.Limit(cfg.Limits.Joins), 10*cfg.Limits.Joins),
		list:     revoked{ofStore: map[inventory.NodeID]time.Time{}, here: map[inventory.NodeID]time.Time{}},
		sessions: map[inventory.NodeID]*session{}, asks: map[string]*ask{}, written: map[reconciler.ReplicaID]*written{},
	}, nil
}

// Run keeps the list of revocations new until ctx ends, so that a node that
// another control plane removed is cut off here too.
func (h *Hub) Run(ctx context.Context) error {
	t := time.NewTicker(h.cfg.Limits.Recheck)
	defer t.Stop()
	for {
		if err := h.recheck(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("revocations cannot be read; the last known ones hold", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// Revoke cuts a node off: its open exchanges end now, and every certificate it
// was given before is refused. It is called when a node is removed, beside the
// store's own record; one that joins again is not touched.
func (h *Hub) Revoke(node inventory.NodeID) {
	h.list.add(node, pki.RevocationTime(time.Now()))
	h.cut(node)
	h.log.Info("node cut off", "node", node)
}

// Revoked reports whether a certificate of a node that was issued then is refused.
// Routers ask it about gates. Before the list was read once it is as if nothing
// was revoked: traffic does not wait for the store.
func (h *Hub) Revoked(node inventory.NodeID, issued time.Time) bool {
	at, _ := h.list.at(node)
	return pki.Revoked(issued, at)
}

// cut ends a node's exchanges and forgets what was known of them.
func (h *Hub) cut(node inventory.NodeID) {
	h.mu.Lock()
	s := h.sessions[node]
	delete(h.sessions, node)
	for _, a := range h.asks {
		if a.node == node {
			a.fail(fmt.Errorf("%w: node %s was removed", ErrAway, node))
		}
	}
	h.mu.Unlock()
	if s != nil {
		s.end()
		// A report that is on its way to the registry arrives there first.
		s.reports.Lock()
		defer s.reports.Unlock()
	}
	h.cfg.Cut(node)
}

// Connected reports whether the node's agent has a poll open or had one a
// moment ago.
func (h *Hub) Connected(node inventory.NodeID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[node]
	return s != nil && s.connected(time.Now())
}
