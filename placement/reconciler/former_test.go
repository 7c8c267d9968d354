package reconciler_test

import (
	"fmt"
	"strings"

	"llmgw.io/llmgw/placement/reconciler"
)

// showContexts tells the definitions of replicas apart by their contexts.
func (b *sandbox) showContexts() string {
	var out strings.Builder
	w := b.world()
	for i := range w.Replicas {
		r := &w.Replicas[i]
		fmt.Fprintf(&out, "%s %s on %s with %d", r.ID, reconciler.StateOf(r, w.Fleet), where(*r), r.Profile.Context)
		if reconciler.Stale(w.Catalog, r) {
			out.WriteString(", stale")
		}
		out.WriteByte('\n')
	}
	return out.String()
}
