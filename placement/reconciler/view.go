package reconciler

import (
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// View is one consistent look at the cluster, as the loop last left it. It is
// shared: read only.
type View struct {
	At      time.Time
	Epoch   int64
	Catalog *catalog.Index
	Fleet   *inventory.Snapshot
	// Replicas are ordered by id.
	Replicas []Replica
	Health   map[catalog.Name]ModelHealth
	// Traces are the last attempts to place, of models that are short and of
	// those that stand where it put them. A control plane that came back has
	// none of the replicas that it found running.
	Traces  map[catalog.Name]placement.Trace
	Traffic Traffic
	// Mix is what placements are judged by.
	Mix placement.Mix
	// Memory is what the loop remembers, without its cache: what a dry run goes on
	// from.
	Memory Memory
	// Brake is set while lost replicas are not replaced.
	Brake Brake
}

// Of returns the replicas of one model, in order of id.
func (v *View) Of(model catalog.Name) []Replica {
	var out []Replica
	for _, r := range v.Replicas {
		if r.Model == model {
			out = append(out, r)
		}
	}
	return out
}
