package reconciler_test

import (
	"fmt"
	"strings"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement/reconciler"
)

// headroom shows how many more replicas of a model fit, and who would give way
// for others.
func (b *sandbox) headroom(w words) (string, error) {
	world := b.world()
	h, err := reconciler.Reconciler{}.Headroom(&reconciler.View{
		At: b.now, Catalog: world.Catalog, Fleet: world.Fleet, Replicas: world.Replicas, Health: b.last.Health, Brake: b.last.Brake,
	}, catalog.Name(w.arg(1)), w.num("limit", 16), &b.aside)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d more\n", len(h.Spots))
	for _, p := range h.Preempting {
		fmt.Fprintf(&out, "  one instead of")
		for _, v := range p.Victims {
			fmt.Fprintf(&out, " %s", v.Replica)
		}
		out.WriteByte('\n')
	}
	return out.String(), nil
}
