package dryrun_test

import (
	"fmt"
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/dryrun"
	"llmgw.io/llmgw/placement/reconciler"
)

// BenchmarkPlan drains one of 10,000 nodes on which 10,000 replicas run.
func BenchmarkPlan(b *testing.B) {
	lines := make([]string, 10_000)
	for i := range lines {
		lines[i] = fmt.Sprintf("n%05d gpu=4xH100-80 rack=r%03d", i, i/20)
	}
	fleet, err := inventorytest.Parse(strings.Join(lines, "\n"))
	if err != nil {
		b.Fatal(err)
	}
	var models []catalog.Entry
	for i := range 20 {
		models = append(models, oneModel(catalog.Name(fmt.Sprintf("m%02d", i)), catalog.Scaling{Min: 500}))
	}
	c := dryrun.Play(reconciler.Reconciler{}, reconciler.World{Now: begin, Catalog: catalog.NewIndex(1, models), Fleet: fleet}, reconciler.Memory{})
	v := &reconciler.View{At: c.World.Now, Catalog: c.World.Catalog, Fleet: c.World.Fleet, Replicas: c.World.Replicas, Memory: c.Memory, Health: c.Last.Health}
	for b.Loop() {
		r, err := dryrun.Plan(reconciler.Reconciler{}, v, draining(v.Replicas[0].Shards[0].Spot.Node))
		if err != nil || len(r.Moved) == 0 {
			b.Fatal(r, err)
		}
	}
}
