package llmgw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/control"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/storage"
)

// enrolment lets the hub use the store's part of joining.
type enrolment struct{ storage.Store }

// UseJoinToken says the store's errors in the hub's words.
func (e enrolment) UseJoinToken(ctx context.Context, id, hash string, node inventory.NodeID, at time.Time) error {
	err := e.Store.UseJoinToken(ctx, storage.TokenUse{ID: id, Hash: hash, Node: node, At: at})
	for from, to := range map[error]error{
		storage.ErrNotFound: hub.ErrTokenUnknown, storage.ErrExpired: hub.ErrTokenExpired, storage.ErrUsed: hub.ErrTokenUsed,
	} {
		if errors.Is(err, from) {
			return to
		}
	}
	return err
}

// newJoinToken makes a permission to join this cluster.
func (c *ControlPlane) newJoinToken() (adminapi.JoinSecret, error) {
	t, err := pki.NewJoinToken(c.ca.Pin())
	if err != nil {
		return adminapi.JoinSecret{}, err
	}
	return adminapi.JoinSecret{ID: t.ID(), Hash: t.HashHex(), Token: t.Reveal()}, nil
}

// nodes is the registry and the live agents, as the admin API sees them.
type nodes struct {
	*inventory.Registry
	hub *hub.Hub
}

// Logs asks the node's agent.
func (n *nodes) Logs(ctx context.Context, node, shard string, tail int, follow bool) (io.ReadCloser, error) {
	id := inventory.NodeID(node)
	if tail == 0 {
		tail = -1 // on the wire, none is all
	}
	r, err := n.hub.Logs(ctx, id, protocol.LogsArgs{Shard: shard, Tail: tail, Follow: follow})
	if err != nil {
		return nil, unanswered(n.Snapshot().Node(id), protocol.AskLogs, err)
	}
	return r, nil
}

// Collect has the node's agent remove weights.
func (n *nodes) Collect(ctx context.Context, node string, paths []string) (out inventory.Collected, err error) {
	id := inventory.NodeID(node)
	for part := range slices.Chunk(paths, protocol.MaxCollect) {
		var did protocol.CollectResult
		if err := n.hub.Ask(ctx, id, protocol.AskCollect, protocol.CollectArgs{Paths: part}, protocol.CollectTime, &did); err != nil {
			return out, unanswered(n.Snapshot().Node(id), protocol.AskCollect, err)
		}
		out.Removed, out.Kept = append(out.Removed, did.Removed...), append(out.Kept, did.Kept...)
	}
	return out, nil
}

// unanswered says the hub's errors in the admin API's words.
func unanswered(n *inventory.Node, kind protocol.AskKind, err error) error {
	switch {
	case errors.Is(err, hub.ErrNoNode):
		return fmt.Errorf("%w: %w", inventory.ErrNotFound, err)
	case errors.Is(err, hub.ErrTimeout):
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	case errors.Is(err, hub.ErrNoLog):
		return fmt.Errorf("%w: %w", adminapi.ErrNoLog, err)
	case errors.Is(err, hub.ErrBusy):
		return fmt.Errorf("%w: %w", adminapi.ErrBusy, err)
	case errors.Is(err, hub.ErrRefused) && n != nil && !slices.Contains(n.Facts.Features, string(kind)):
		return fmt.Errorf("%w: %w", adminapi.ErrUnsupported, err)
	}
	return err
}

// keys are the store's and those that the configuration file declares, with the
// router told of changes.
type keys struct {
	storage.Store
	declared []storage.Key
	router   *router.Router
}

// ListKeys lists both; of two with one id the declared one is in force.
func (k *keys) ListKeys(ctx context.Context) ([]storage.Key, error) {
	kept, err := k.Store.ListKeys(ctx)
	if err != nil {
		return nil, err
	}
	kept = slices.DeleteFunc(kept, func(key storage.Key) bool { return k.isDeclared(key.ID) })
	return append(kept, k.declared...), nil
}

func (k *keys) isDeclared(id string) bool {
	return slices.ContainsFunc(k.declared, func(d storage.Key) bool { return d.ID == id })
}

// CreateKey lets a key that was tried before it was made work at once.
func (k *keys) CreateKey(ctx context.Context, key storage.Key, by inventory.Author) error {
	err := k.Store.CreateKey(ctx, key, by)
	k.router.ForgetKey(key.ID)
	return err
}

// RevokeKey is in force here at once. A declared key is the file's.
func (k *keys) RevokeKey(ctx context.Context, id string, by inventory.Author) error {
	if k.isDeclared(id) {
		return fmt.Errorf("%w: take key %q out there and start the control plane again", adminapi.ErrDeclared, id)
	}
	err := k.Store.RevokeKey(ctx, id, by)
	k.router.ForgetKey(id)
	return err
}

// traffic is the router's, in the reconciler's words.
type traffic struct{ c *ControlPlane }

// Traffic is what requests there are now.
func (t *traffic) Traffic() reconciler.Traffic {
	in := t.c.router.Traffic()
	out := reconciler.Traffic{
		Since:    in.Since,
		Models:   make(map[catalog.Name]reconciler.ModelTraffic, len(in.Models)),
		Replicas: make(map[reconciler.ReplicaID]reconciler.ReplicaTraffic, len(in.Replicas)),
	}
	for name, m := range in.Models {
		out.Models[name] = reconciler.ModelTraffic(m)
	}
	for id, r := range in.Replicas {
		out.Replicas[reconciler.ReplicaID(id)] = reconciler.ReplicaTraffic(r)
	}
	return out
}

// statics are the router's probes, as people are shown them.
type statics struct {
	router  *router.Router
	catalog *catalog.Service
}

// Statics lists replicas that others run.
func (s statics) Statics() []view.Static {
	list := s.router.Statics()
	out := make([]view.Static, len(list))
	for i, e := range list {
		out[i] = view.Static{Model: e.Model, Profile: s.profile(e.Model, e.URL), URL: e.URL, Ready: e.Healthy, Error: e.Error}
	}
	return out
}

// profile finds the profile that an endpoint stands in.
func (s statics) profile(model catalog.Name, url string) string {
	e, ok := s.catalog.Index().Get(model)
	if !ok {
		return ""
	}
	for _, p := range e.Model.Profiles {
		if slices.ContainsFunc(p.Endpoints, func(at catalog.Endpoint) bool { return at.URL == url }) {
			return p.Name
		}
	}
	return ""
}

// settling is how long nodes have to be heard of after a start before a model
// that fits nowhere counts as hopeless.
const settling = 15 * time.Second

// backends is what the control loop knows to be ready, as the router sees it.
type backends struct {
	loop      *control.Loop
	engineKey func(replica string) string
	started   time.Time

	mu     sync.Mutex
	seen   *reconciler.View
	ready  map[catalog.Name][]router.Backend
	hashed map[reconciler.ReplicaID]string // keys that were derived, by replica
	// removed is when nodes were, of which the loop may not know yet.
	removed map[inventory.NodeID]time.Time
}

// cut takes a removed node out of what is ready, before the loop looks again.
func (b *backends) cut(node inventory.NodeID, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.removed[node] = at
	b.seen = nil
}

// gone reports whether one of the replica's nodes was removed.
func (b *backends) gone(r *reconciler.Replica) bool {
	return slices.ContainsFunc(r.Shards, func(s reconciler.Shard) bool {
		_, was := b.removed[s.Spot.Node]
		return was
	})
}

// forget drops removals that a view knows of: the node is not in it, or was heard
// since, as another member would be.
func (b *backends) forget(fleet *inventory.Snapshot) {
	maps.DeleteFunc(b.removed, func(id inventory.NodeID, at time.Time) bool {
		n := fleet.Node(id)
		return n == nil || !n.LastSeen.Before(at)
	})
}

// Backends are the replicas of a model that answer, as of the newest look.
func (b *backends) Backends(model catalog.Name) []router.Backend {
	v := b.loop.View()
	b.mu.Lock()
	defer b.mu.Unlock()
	if v != b.seen {
		b.seen, b.ready = v, b.gather(v)
	}
	return b.ready[model]
}

// Changed is closed when there is a newer look.
func (b *backends) Changed() <-chan struct{} { return b.loop.Changed() }

// Asked wakes the loop, which reads the demand from the router.
func (b *backends) Asked(catalog.Name) { b.loop.Wake() }

// Status says why a model has no replica, and whether waiting is hopeless.
func (b *backends) Status(model catalog.Name) (reason string, hopeless bool) {
	h, ok := b.loop.View().Health[model]
	switch {
	case !ok:
		return "", false
	case h.Parked:
		return "it was parked after " + fmt.Sprint(h.Failures) + " failed starts: " + h.Reason, true
	case h.Unplaceable && h.Total == 0:
		return "no node has room for it", time.Since(b.started) > settling
	}
	return h.Reason, false
}

// gather lists what is ready in a view. A replica on a silent node stays, as the
// last choice, for as long as it is ordered: its engine may well be there.
func (b *backends) gather(v *reconciler.View) map[catalog.Name][]router.Backend {
	b.forget(v.Fleet)
	out := map[catalog.Name][]router.Backend{}
	keys := make(map[reconciler.ReplicaID]string, len(v.Replicas))
	for i := range v.Replicas {
		r := &v.Replicas[i]
		lead, reachable, ok := leading(r, v.Fleet)
		if !ok || r.Phase == reconciler.Stop || b.gone(r) {
			continue
		}
		e := router.Backend{
			ID: string(r.ID), Model: string(r.Model), Address: lead.address,
			Node: string(lead.node), Draining: r.Phase == reconciler.Drain, Unreachable: !reachable,
			ByPlace: r.Profile.Engine == catalog.EngineLlamaCPP, Slots: slotsOf(&r.Profile),
		}
		if !lead.gate {
			if keys[r.ID] = b.hashed[r.ID]; keys[r.ID] == "" {
				keys[r.ID] = b.engineKey(string(r.ID))
			}
			e.Key = keys[r.ID]
		} else { // the gate has the key
			e.Address = router.GateAddress(string(lead.node), lead.address)
		}
		for _, a := range r.Adapters {
			if lead.adapters == nil || slices.Contains(lead.adapters, string(a.Name)) {
				e.Adapters = append(e.Adapters, a.Name)
			}
		}
		out[r.Model] = append(out[r.Model], e)
	}
	b.hashed = keys
	return out
}

// slotsOf is how many requests a replica works at at once; 0 where nobody knows.
// A llama-server whose profile does not say has one slot for a context that is
// given, as agents start it, and four of its own accord.
func slotsOf(p *catalog.Profile) int {
	switch {
	case p.Slots > 0 || p.Engine != catalog.EngineLlamaCPP:
		return p.Slots
	case p.Context > 0:
		return 1
	}
	return 4
}

// lead is where a replica is asked: an engine, or the gate of a node.
type lead struct {
	address string
	node    inventory.NodeID
	gate    bool // else it is the engine
	// adapters are those the engine has loaded; nil: it does not say.
	adapters []string
}

// leading finds where a replica is asked all of whose shards said that they are
// ready.
func leading(r *reconciler.Replica, fleet *inventory.Snapshot) (at lead, reachable, ok bool) {
	reachable = true
	for _, s := range r.Shards {
		n := fleet.Node(s.Spot.Node)
		if n == nil {
			return lead{}, false, false
		}
		st, known := n.Shard(string(s.ID))
		if !known || st.State != inventory.ShardReady {
			return lead{}, false, false
		}
		reachable = reachable && n.Hearing == inventory.Heard
		if s.Rank == 0 {
			at = lead{address: st.Address, node: n.ID, gate: st.Gate, adapters: st.Adapters}
		}
	}
	return at, reachable, at.address != ""
}
