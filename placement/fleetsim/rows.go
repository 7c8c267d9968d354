package fleetsim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/reconciler"
)

// leaseLife is how long a leader that says nothing keeps the lease, as package
// storage has it.
const leaseLife = 15 * time.Second

// errFenced is the answer to what a leader writes after another one; errAway is
// that of a store that is not there.
var (
	errFenced = errors.New("fleetsim: another control plane leads")
	errAway   = errors.New("fleetsim: the store is away")
)

// rows are what outlives a control plane: what was ordered, what is remembered,
// and who leads. Only the newest epoch writes.
type rows struct {
	settings  inventorytest.Store
	seeded    bool
	epoch     int64
	awayUntil time.Time
	replicas  []reconciler.Replica // by id, never changed in place
	next      int64
	memory    map[catalog.Name]reconciler.ModelMemory
}

// lead begins a new epoch.
func (r *rows) lead() int64 {
	r.epoch++
	return r.epoch
}

// load reads what was ordered and what is kept of the memory.
func (r *rows) load(epoch int64, now time.Time) ([]reconciler.Replica, reconciler.Memory, error) {
	if err := r.admit(epoch, now); err != nil {
		return nil, reconciler.Memory{}, err
	}
	return r.replicas, reconciler.Memory{Next: max(1, r.next), Models: maps.Clone(r.memory)}, nil
}

func (r *rows) admit(epoch int64, now time.Time) error {
	switch {
	case now.Before(r.awayUntil):
		return errAway
	case epoch != r.epoch:
		return fmt.Errorf("epoch %d, after %d: %w", epoch, r.epoch, errFenced)
	}
	return nil
}

// write keeps a plan and the memory after it, whole or not at all.
func (r *rows) write(epoch int64, now time.Time, actions []reconciler.Action, m reconciler.Memory) error {
	if err := r.admit(epoch, now); err != nil {
		return err
	}
	r.replicas = merge(r.replicas, actions)
	r.next, r.memory = m.Next, m.Models
	return nil
}

// merge returns the replicas after a plan, ordered by id.
func merge(replicas []reconciler.Replica, actions []reconciler.Action) []reconciler.Replica {
	if len(actions) == 0 {
		return replicas
	}
	out := slices.Clone(replicas)
	for _, a := range actions {
		i, found := slices.BinarySearchFunc(out, a.Replica.ID, func(r reconciler.Replica, id reconciler.ReplicaID) int {
			return cmpID(r.ID, id)
		})
		switch {
		case a.Kind == reconciler.Forget && found:
			out = slices.Delete(out, i, i+1)
		case a.Kind == reconciler.Forget:
		case found:
			out[i] = a.Replica
		default:
			out = slices.Insert(out, i, a.Replica)
		}
	}
	return out
}

func cmpID(a, b reconciler.ReplicaID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
