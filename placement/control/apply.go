package control

import (
	"context"
	"errors"
	"reflect"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/placement/replay"
	"llmgw.io/llmgw/storage"
)

// maxRetries is how often a decision is made anew in one pass because the fleet
// changed meanwhile. After that the next change starts another pass.
const maxRetries = 3

// decide asks the reconciler, and carries out its plan: room first, then the
// store, so that a process that dies in between leaves nothing that its
// successor does not know. A plan that could not be carried out leaves all as
// it was.
func (r *reign) decide(ctx context.Context) error {
	var w reconciler.World
	var plan reconciler.Plan
	var memory reconciler.Memory
	var err error
	for range 1 + maxRetries {
		w = r.world()
		plan, memory = r.l.reconciler.Step(w, r.memory)
		if err = r.reserve(w.Catalog, plan); !errors.Is(err, inventory.ErrStale) {
			break
		}
	}
	if err != nil {
		r.l.log.Info("the fleet changed while it was decided; looking again", "err", err)
		r.note(w, plan, memory, replay.Stale)
		r.publish(w, plan)
		return nil
	}
	if err := r.persist(ctx, plan, memory); err != nil {
		r.unreserve(plan)
		r.note(w, plan, memory, replay.Failed)
		if err := r.storeFailed("what is ordered could not be kept", err); err != nil {
			return err
		}
		r.publish(w, plan)
		return nil
	}
	r.note(w, plan, memory, replay.Kept)
	r.accept(ctx, plan, memory)
	r.publish(w, plan)
	r.l.ordersDone(plan.OrdersDone)
	return nil
}

// accept makes a plan that was kept the state of things.
func (r *reign) accept(ctx context.Context, plan reconciler.Plan, memory reconciler.Memory) {
	r.memory = memory
	r.replicas = merge(r.replicas, plan.Actions)
	if len(plan.Actions) > 0 {
		r.delivered = false
		r.deliver(ctx)
	}
	for _, a := range plan.Actions {
		if a.Kind == reconciler.Forget {
			r.l.cfg.Fleet.Release(string(a.Replica.ID))
		}
		r.l.log.Info("replica is ordered", "action", string(a.Kind), "replica", string(a.Replica.ID), "model", string(a.Replica.Model),
			"phase", string(a.Replica.Phase), "why", a.Why)
	}
	if r.l.cfg.Events.Happened != nil {
		for _, e := range plan.Events {
			r.l.cfg.Events.Happened(e)
		}
	}
}

// reserve takes the room of all replicas that are placed, or of none. When a
// node has changed since it was looked at, decisions that still hold are kept
// on its new version.
func (r *reign) reserve(index *catalog.Index, plan reconciler.Plan) error {
	versions, as := plan.Claims()
	if len(as) == 0 {
		return nil
	}
	err := r.l.cfg.Fleet.Reserve(versions, as)
	if !errors.Is(err, inventory.ErrStale) {
		return err
	}
	newer, ok := plan.Holds(r.l.cfg.Placer, r.l.cfg.Fleet.Snapshot(), index)
	if !ok {
		return err
	}
	return r.l.cfg.Fleet.Reserve(newer, as)
}

// unreserve frees what a plan that was not kept has reserved.
func (r *reign) unreserve(plan reconciler.Plan) {
	for _, a := range plan.Actions {
		if a.Kind == reconciler.Place {
			r.l.cfg.Fleet.Release(string(a.Replica.ID))
		}
	}
}

// persist writes a plan and the memory after it, in one transaction. When it
// fails, nobody knows whether the store has it, so the store is read again.
func (r *reign) persist(ctx context.Context, plan reconciler.Plan, memory reconciler.Memory) error {
	c, err := changeOf(plan, r.memory, memory)
	if err != nil {
		return err
	}
	if isEmpty(c) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return r.leader.ChangeAssignments(ctx, c)
}

// changeOf is what has to be written.
func changeOf(plan reconciler.Plan, before, after reconciler.Memory) (storage.AssignmentChange, error) {
	var c storage.AssignmentChange
	for _, a := range plan.Actions {
		if a.Kind == reconciler.Forget {
			c.Delete = append(c.Delete, string(a.Replica.ID))
		} else {
			c.Put = append(c.Put, assignmentOf(a.Replica))
		}
	}
	if after.Next != before.Next {
		c.Next = after.Next
	}
	for _, name := range sortedKeys(after.Models) {
		m := after.Models[name]
		if old, had := before.Models[name]; had && reflect.DeepEqual(old, m) {
			continue
		}
		data, err := encodeMemory(m)
		if err != nil {
			return c, err
		}
		c.PutMemory = append(c.PutMemory, storage.ModelMemory{Model: name, Data: data})
	}
	for _, name := range sortedKeys(before.Models) {
		if _, still := after.Models[name]; !still {
			c.DeleteMemory = append(c.DeleteMemory, name)
		}
	}
	return c, nil
}

func isEmpty(c storage.AssignmentChange) bool {
	return len(c.Put)+len(c.Delete)+len(c.PutMemory)+len(c.DeleteMemory) == 0 && c.Next == 0
}
