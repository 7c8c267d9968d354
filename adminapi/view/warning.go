package view

import (
	"fmt"

	"llmgw.io/llmgw/catalog"
)

// overReserved is by how much more than its reservation a shard may be measured
// before people are told. Resident memory includes mapped weights, hence the
// tenth.
const overReserved = 1.1

// use is what a model's engines use now.
type use struct {
	// replica is the most of any replica, shard the most of any shard, in
	// bytes. Zero: not measured.
	replica, shard int64
}

// measure looks at what every shard of a model uses, where it was measured
// within a minute.
func measure(w World, name catalog.Name) use {
	var u use
	for _, r := range w.View.Of(name) {
		var sum int64
		for _, s := range r.Shards {
			n := w.node(s.Spot.Node)
			if !fresh(n, w.Now) {
				continue
			}
			if st, ok := n.Shard(string(s.ID)); ok && st.Use != nil {
				sum += st.Use.MemoryBytes
				u.shard = max(u.shard, st.Use.MemoryBytes)
			}
		}
		u.replica = max(u.replica, sum)
	}
	return u
}

func (u use) replicaGB() *float64 {
	if u.replica == 0 {
		return nil
	}
	v := inGiB(u.replica)
	return &v
}

func inGiB(bytes int64) float64 { return round1(float64(bytes) / (1 << 30)) }

// warningsOf are facts about a definition that will hurt later.
func warningsOf(m *catalog.Model, u use) []string {
	var out []string
	for i := range m.Profiles {
		p := &m.Profiles[i]
		if p.Managed() && p.GPU == nil && p.MemoryGB == 0 {
			out = append(out, fmt.Sprintf("profile %q runs on CPUs and declares no memory, so placement cannot tell when a node is full; "+
				"declare it: llmgw-control ctl models resources %s --profile %s --memory-gb N --cpu-cores %d", p.Name, m.Name, p.Name, p.CPUCores))
		}
	}
	if len(m.Profiles) != 1 || m.Profiles[0].MemoryGB == 0 {
		return out
	}
	reserved := m.Profiles[0].MemoryGB
	if float64(u.shard) > overReserved*float64(reserved)*(1<<30) {
		out = append(out, fmt.Sprintf("uses %.1f GB and reserves %d: raise it, or nodes will be filled past their memory", inGiB(u.shard), reserved))
	}
	return out
}
