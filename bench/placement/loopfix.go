package main

import (
	"fmt"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/fix"
	"llmgw.io/llmgw/placement/reconciler"
)

// askFix fills all devices of one kind, and asks what would make room for one
// more: for a model that the stopping of others helps, and for one that nothing
// does. The slower one counts.
func (l *looping) askFix(x *placement.Index, out *looked) {
	e, _ := l.world.Catalog.Get("m001")
	var standing []placement.Occupant
	for i := range l.world.Replicas {
		r := &l.world.Replicas[i]
		of, _ := l.world.Catalog.Get(r.Model)
		standing = append(standing, placement.Occupant{Replica: string(r.ID), Model: r.Model, Class: of.Model.Class, Seconds: 60})
	}
	hopeless := e.Model
	hopeless.Name = "hopeless"
	hopeless.Profiles = []catalog.Profile{e.Model.Profiles[0]}
	hopeless.Profiles[0].MemoryGB = 4096
	x.Try(func() {
		for i := 0; ; i++ {
			d, _ := x.Choose(reconciler.Request(l.world.Catalog, &e.Model))
			if !d.Placed {
				break
			}
			x.With(d.Candidate.Allocations("m001", fmt.Sprintf("more/%d", i))...)
		}
		asked := e.Model
		asked.Name, asked.Class = "asked", catalog.ClassCritical
		for _, m := range []*catalog.Model{&asked, &hopeless} {
			q := fix.Question{Request: reconciler.Request(l.world.Catalog, m), Standing: standing, Holds: l.world.Fleet.Holds()}
			_, _, _ = fix.Find(x, q)
			out.Fix = max(out.Fix, spent(loopRepeats/5, func(int) { _, _, _ = fix.Find(x, q) }))
		}
	})
}
