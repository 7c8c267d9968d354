package reconciler

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// maxOrphansTold is how many orphans of one node a step tells of one by one. An
// agent may report what it likes, and events are kept and read by people.
const maxOrphansTold = 16

// findOrphans tells once of each shard that an agent runs and no replica
// explains; where a node has many at once, of the rest only how many. Nothing is ordered for it: it is missing from what its agent is told
// to run, so the agent stops it. Whatever is ordered holds room on its node.
func (s *step) findOrphans() {
	var found []ShardID
	for n := range s.marked(strayed) {
		fresh := 0
		for i := range n.Shards {
			st := &n.Shards[i]
			if !strays(n, st) {
				continue
			}
			id := ShardID(st.ID)
			found = append(found, id)
			if _, told := slices.BinarySearch(s.mem.Orphans, id); told {
				continue
			}
			if fresh++; fresh <= maxOrphansTold {
				s.event(EventOrphan, &group{name: catalog.Name(st.Model)}, nil, n.ID,
					fmt.Sprintf("Node %s runs shard %s, which is not ordered; it is told to stop it.", n.ID, id))
			}
		}
		if more := fresh - maxOrphansTold; more > 0 {
			s.event(EventOrphan, &group{}, nil, n.ID, fmt.Sprintf("... and %d more on node %s; it is told to stop what is not ordered.", more, n.ID))
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
