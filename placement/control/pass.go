package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

// pass looks at the world once and carries out what should happen. It answers
// an error only when another process leads; whatever else fails is tried again
// by a later pass.
func (r *reign) pass(ctx context.Context) error {
	r.wakeAt = time.Time{}
	if !r.fresh {
		if err := r.reload(ctx); err != nil {
			return err
		}
	}
	if !r.fresh {
		r.observe()
		return nil
	}
	if err := r.decide(ctx); err != nil {
		return err
	}
	if r.fresh {
		r.deliver(ctx)
	}
	return nil
}

// reload reads the store, unless it failed a moment ago. Everything that was
// ordered has its room before anything is delivered, so that nothing can be
// placed over it.
func (r *reign) reload(ctx context.Context) error {
	if now().Before(r.retryAt) {
		return nil
	}
	kept, err := bounded(ctx, storeTimeout, r.leader.LoadAssignments)
	if err != nil {
		return r.storeFailed("what was ordered could not be loaded", err)
	}
	replicas, memory, err := decode(kept)
	if err != nil {
		return r.storeFailed("what was ordered could not be read", err)
	}
	// What is known of silence and the like is this process's own, and outlives a
	// doubt.
	r.restore(replicas)
	r.replicas, r.memory = replicas, memory.Resume(r.memory)
	r.known, r.fresh, r.delivered = true, true, false
	r.pause, r.retryAt = backoff{}, time.Time{}
	r.l.log.Info("what was ordered is loaded", "replicas", len(replicas), "epoch", r.epoch)
	r.deliver(ctx)
	return nil
}

// restore makes the fleet's room what the store says: room of a replica that an
// earlier reign held and nobody knows any more is freed.
func (r *reign) restore(replicas []reconciler.Replica) {
	known := map[string]bool{}
	var as []inventory.Allocation
	for i := range replicas {
		known[string(replicas[i].ID)] = true
		as = append(as, spots(&replicas[i])...)
	}
	for _, n := range r.l.cfg.Fleet.Snapshot().Nodes() {
		for _, a := range n.Allocations {
			if !known[a.Replica] {
				r.l.cfg.Fleet.Release(a.Replica)
			}
		}
	}
	r.l.cfg.Fleet.Restore(as)
}

// storeFailed notes a failure of the store: another leader's is passed up, any
// other one starts a pause.
func (r *reign) storeFailed(what string, err error) error {
	if lost(err) {
		return err
	}
	r.doubt()
	if errors.Is(err, context.Canceled) {
		return nil // this process ends, or no longer leads
	}
	r.l.log.Warn("the store failed; engines run on, trying again", "what", what, "err", err)
	return nil
}

// observe publishes what can be seen while the store is away. Nothing is
// ordered: what cannot be kept must not be done.
func (r *reign) observe() {
	if !r.known {
		return
	}
	w := r.world()
	w.Orders = nil
	plan, _ := r.l.reconciler.Step(w, r.memory)
	r.publish(w, plan)
}

func (r *reign) world() reconciler.World {
	w := reconciler.World{
		Now: now(), Catalog: r.l.cfg.Catalog.Index(), Fleet: r.l.cfg.Fleet.Snapshot(),
		Replicas: r.replicas, Orders: r.l.pendingOrders(),
	}
	if r.l.cfg.Traffic != nil {
		w.Traffic = r.l.cfg.Traffic.Traffic()
	}
	return w
}

// deliver gives the dispatcher the whole of what is ordered, unless it has it:
// the same replicas, on nodes of which nothing changed that an order may be made
// from, and the same definitions.
func (r *reign) deliver(ctx context.Context) {
	fleet, version := r.l.cfg.Fleet.Snapshot(), r.l.cfg.Catalog.Index().Version()
	if r.delivered && r.deliveredAs == version && sameVersions(fleet, r.deliveredOn) {
		return
	}
	if err := r.l.cfg.Dispatcher.Dispatch(ctx, r.epoch, r.replicas); err != nil {
		r.delivered = false
		r.l.log.Warn("what is ordered could not be delivered; trying again", "err", err)
		return
	}
	r.delivered, r.deliveredOn, r.deliveredAs = true, fleet, version
}

// sameVersions reports whether no node has changed but for what it measures and
// what it says of its shards.
func sameVersions(a, b *inventory.Snapshot) bool {
	return slices.EqualFunc(a.Nodes(), b.Nodes(), func(x, y *inventory.Node) bool {
		return x == y || (x.ID == y.ID && x.Version == y.Version)
	})
}

// publish makes the newest view of what was looked at.
func (r *reign) publish(w reconciler.World, plan reconciler.Plan) {
	r.keepTraces(plan)
	r.wakeAt = plan.WakeAt
	memory := r.memory
	memory.Cache = nil // it is the loop's own
	r.l.publish(&reconciler.View{
		At: w.Now, Epoch: r.epoch, Catalog: w.Catalog, Fleet: r.l.cfg.Fleet.Snapshot(),
		Replicas: r.replicas, Health: plan.Health, Traces: r.traces, Traffic: w.Traffic, Mix: r.memory.Mix, Memory: memory, Brake: plan.Brake,
	})
}

// keepTraces keeps the last attempt of every model that is short still, also
// while its next start waits, and of every model that stands where it put it.
func (r *reign) keepTraces(plan reconciler.Plan) {
	next := map[catalog.Name]placement.Trace{}
	for model, h := range plan.Health {
		if h.Desired == 0 && h.Total == 0 {
			continue
		}
		if t, tried := plan.Traces[model]; tried {
			next[model] = t
		} else if t, before := r.traces[model]; before {
			next[model] = t
		}
	}
	r.traces = next
}

// merge returns the replicas after a plan, ordered by id.
func merge(replicas []reconciler.Replica, actions []reconciler.Action) []reconciler.Replica {
	if len(actions) == 0 {
		return replicas
	}
	actions = slices.Clone(actions)
	slices.SortFunc(actions, func(a, b reconciler.Action) int { return cmp.Compare(a.Replica.ID, b.Replica.ID) })
	out := make([]reconciler.Replica, 0, len(replicas)+len(actions))
	for len(replicas)+len(actions) > 0 {
		if len(actions) == 0 || len(replicas) > 0 && replicas[0].ID < actions[0].Replica.ID {
			out, replicas = append(out, replicas[0]), replicas[1:]
			continue
		}
		if a := actions[0]; a.Kind != reconciler.Forget {
			out = append(out, a.Replica)
		}
		if len(replicas) > 0 && replicas[0].ID == actions[0].Replica.ID {
			replicas = replicas[1:]
		}
		actions = actions[1:]
	}
	return out
}

func spots(r *reconciler.Replica) []inventory.Allocation {
	out := make([]inventory.Allocation, len(r.Shards))
	for i, s := range r.Shards {
		out[i] = s.Spot
	}
	return out
}

// decode turns what a store kept into what Step works on.
func decode(kept storage.Assignments) ([]reconciler.Replica, reconciler.Memory, error) {
	replicas := make([]reconciler.Replica, len(kept.Replicas))
	for i, a := range kept.Replicas {
		replicas[i] = replicaOf(a)
	}
	slices.SortFunc(replicas, func(a, b reconciler.Replica) int { return cmp.Compare(a.ID, b.ID) })
	memory := reconciler.Memory{Next: max(1, kept.Next), Models: map[catalog.Name]reconciler.ModelMemory{}}
	for _, m := range kept.Memory {
		mm, err := decodeMemory(m.Data)
		if err != nil {
			return nil, memory, fmt.Errorf("what is remembered of model %q does not read: %w", m.Model, err)
		}
		memory.Models[m.Model] = mm
	}
	return replicas, memory, nil
}
