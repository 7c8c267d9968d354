package reconciler

import (
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// Reconciler is the policy. The zero value is the default one.
type Reconciler struct {
	Placer placement.Placer
}

// Step looks at the world once and says what should happen.
func (r Reconciler) Step(w World, m Memory) (Plan, Memory) { panic("not built yet") }

// StateOf is the one word for a replica: the first that any shard is in, of
// failed, lost, draining, stopped, pending, fetching, starting, ready.
func StateOf(r *Replica, fleet *inventory.Snapshot) ReplicaState { panic("not built yet") }

// ShardStateOf is what is known of one shard now; lost while its node is.
func ShardStateOf(r *Replica, s *Shard, fleet *inventory.Snapshot) inventory.ShardStatus {
	panic("not built yet")
}
