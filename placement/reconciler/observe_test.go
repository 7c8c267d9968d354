package reconciler_test

import (
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

func TestStateOf(t *testing.T) {
	t.Parallel()
	const run, drain, stop = reconciler.Run, reconciler.Drain, reconciler.Stop
	tests := []struct {
		name  string
		phase reconciler.Phase
		// node is what is heard of the second shard's node; empty: it is gone.
		node inventory.Hearing
		// shards are the states of the two; empty: the agent does not list it.
		shards [2]inventory.ShardState
		want   reconciler.ReplicaState
	}{
		{"both are ready", run, inventory.Heard, [2]inventory.ShardState{"ready", "ready"}, reconciler.StateReady},
		{"the slower one counts", run, inventory.Heard, [2]inventory.ShardState{"ready", "fetching"}, reconciler.StateFetching},
		{"not listed is pending", run, inventory.Heard, [2]inventory.ShardState{"ready", ""}, reconciler.StatePending},
		{"failed before all", run, inventory.Lost, [2]inventory.ShardState{"failed", "ready"}, reconciler.StateFailed},
		{"unreachable keeps the last word", run, inventory.Unreachable, [2]inventory.ShardState{"ready", "ready"}, reconciler.StateReady},
		{"lost with its node", run, inventory.Lost, [2]inventory.ShardState{"ready", "ready"}, reconciler.StateLost},
		{"lost with its node, though it failed there", run, inventory.Lost, [2]inventory.ShardState{"ready", "failed"}, reconciler.StateLost},
		{"lost with a node that is gone", run, "", [2]inventory.ShardState{"ready", "ready"}, reconciler.StateLost},
		{"draining, whatever its engine does", drain, inventory.Heard, [2]inventory.ShardState{"ready", "ready"}, reconciler.StateDraining},
		{"on its way to stopped", stop, inventory.Heard, [2]inventory.ShardState{"stopped", "ready"}, reconciler.StateDraining},
		{"stopped", stop, inventory.Heard, [2]inventory.ShardState{"stopped", "stopped"}, reconciler.StateStopped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := reconciler.Replica{ID: "m-1", Model: "m", Phase: tt.phase, CreatedAt: time.Unix(9, 0)}
			var nodes []*inventory.Node
			for rank, id := range []inventory.NodeID{"a1", "a2"} {
				shard := []string{"m-1.0", "m-1.1"}[rank]
				r.Shards = append(r.Shards, reconciler.Shard{ID: reconciler.ShardID(shard), Rank: rank, Spot: inventory.Allocation{Shard: shard, Node: id}})
				n := &inventory.Node{ID: id, Hearing: inventory.Heard}
				if rank == 1 {
					if n.Hearing = tt.node; tt.node == "" {
						continue
					}
				}
				if st := tt.shards[rank]; st != "" {
					n.Shards = []inventory.ShardStatus{{ID: shard, State: st, Address: "127.0.0.1:20000"}}
				}
				nodes = append(nodes, n)
			}
			fleet := inventory.NewSnapshot(1, nodes)
			if got := reconciler.StateOf(&r, fleet); got != tt.want {
				t.Errorf("want %s, got %s", tt.want, got)
			}
			// Routers may still reach what is lost, so its address stays known.
			st := reconciler.ShardStateOf(&r, &r.Shards[1], fleet)
			if st.State == inventory.ShardLost && tt.node == inventory.Lost && st.Address == "" {
				t.Error("want the last address of a lost shard")
			}
		})
	}
}
