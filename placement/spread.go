package placement

import (
	"fmt"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// standing is where a model's replicas stand already. A replica with several
// shards in one domain counts once there.
type standing struct {
	total int
	// level is the profile's; domains counts by it. Empty: no spread is asked.
	level   inventory.Level
	most    int // replicas in one domain; zero: no bound
	domains map[string]int
	nodes   map[string]int
	racks   map[string]int
}

func standingOf(world *inventory.Snapshot, model catalog.Name, s *catalog.Spread) standing {
	out := standing{}
	if s != nil {
		out.level, out.most = s.Level, s.MaxPerDomain
	}
	var seen map[string]bool
	for _, n := range world.Nodes() {
		for i := range n.Allocations {
			a := &n.Allocations[i]
			if a.Model != string(model) {
				continue
			}
			if seen == nil {
				seen = map[string]bool{}
				out.domains, out.nodes, out.racks = map[string]int{}, map[string]int{}, map[string]int{}
			}
			out.add(n, a.Replica, seen)
		}
	}
	return out
}

func (s *standing) add(n *inventory.Node, replica string, seen map[string]bool) {
	once := func(counts map[string]int, kind, domain string) {
		if key := kind + "\x00" + domain + "\x00" + replica; domain != "" && !seen[key] {
			seen[key] = true
			counts[domain]++
		}
	}
	if !seen[replica] {
		seen[replica] = true
		s.total++
	}
	once(s.nodes, "node", string(n.ID))
	once(s.racks, "rack", n.Domain(inventory.LevelRack))
	if s.level != "" {
		once(s.domains, "domain", n.Domain(s.level))
	}
}

func bySpread(q *query, n *inventory.Node) refusal {
	s := &q.stands
	if s.most == 0 {
		return refusal{}
	}
	domain := n.Domain(s.level)
	if domain == "" {
		return refusal{reason: Spread, say: func(q *query, _ *inventory.Node, _ refusal) string {
			return fmt.Sprintf("does not say its %s, which the profile bounds; label it %s%s", q.stands.level, inventory.LabelPrefix, q.stands.level)
		}}
	}
	if has := s.domains[domain]; has >= s.most {
		return refusal{reason: Spread, need: int64(s.most), have: int64(has), unit: "replicas", say: func(q *query, n *inventory.Node, r refusal) string {
			return fmt.Sprintf("%s %s has %d of the model's replicas, at most %d may stand there", q.stands.level, n.Domain(q.stands.level), r.have, r.need)
		}}
	}
	return refusal{}
}
