package reconciler

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// findOrphans tells once of each shard that an agent runs and no replica
// explains. Nothing is ordered for it: it is missing from what its agent is told
// to run, so the agent stops it. Whatever is ordered holds room on its node.
func (s *step) findOrphans() {
	var found []ShardID
	for n := range s.marked(strayed) {
		for i := range n.Shards {
			st := &n.Shards[i]
			if !strays(n, st) {
				continue
			}
			id := ShardID(st.ID)
			found = append(found, id)
			if _, told := slices.BinarySearch(s.mem.Orphans, id); !told {
				s.event(EventOrphan, &group{name: catalog.Name(st.Model)}, nil, n.ID,
					fmt.Sprintf("Node %s runs shard %s, which is not ordered; it is told to stop it.", n.ID, id))
			}
		}
	}
	slices.Sort(found)
	s.mem.Orphans = found
}

// strays reports whether a shard runs on a node though nothing has room for it
// there.
func strays(n *inventory.Node, st *inventory.ShardStatus) bool {
	return st.State != inventory.ShardStopped && st.State != inventory.ShardFailed && !holds(n, st.ID)
}
