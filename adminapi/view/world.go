package view

import (
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// FreshFor is how old a measurement may be and still be shown. An older one is
// left out: unknown, not idle.
const FreshFor = time.Minute

// World is what views are built from: one consistent look, and the moment.
type World struct {
	// View is required and read only.
	View *reconciler.View
	// Statics is what is known of replicas that others run. Nil: nobody says.
	Statics []Static
	Now     time.Time
	// Stored says that what people set is kept, so that a choice of engine
	// builds can be shown.
	Stored bool
	// Looks says what was seen of a model's weights at their source; false: nothing.
	// Nil: nobody looks.
	Looks func(m *catalog.Model) (Look, bool)
	// EngineKey gives the key of a replica's engine. Nil leaves keys out, which
	// is right for every caller without the scope for secrets.
	EngineKey func(replica string) string
}

// Static is the health of one replica that others run, as routers see it.
type Static struct {
	Model   catalog.Name
	Profile string
	URL     string
	Ready   bool
	// Error is why it is not ready. Empty: not known, or ready.
	Error string
	// Since is when it was first seen so. Zero: not known.
	Since time.Time
}

// staticsOf are the static replicas of one model.
func (w World) staticsOf(name catalog.Name) []Static {
	var out []Static
	for _, s := range w.Statics {
		if s.Model == name {
			out = append(out, s)
		}
	}
	return out
}

// node finds a node of the look; nil when there is none.
func (w World) node(id inventory.NodeID) *inventory.Node {
	if w.View.Fleet == nil {
		return nil
	}
	return w.View.Fleet.Node(id)
}

// nodes are all of them, in order.
func (w World) nodes() []*inventory.Node {
	if w.View.Fleet == nil {
		return nil
	}
	return w.View.Fleet.Nodes()
}

// entries are all definitions, in order.
func (w World) entries() []catalog.Entry {
	if w.View.Catalog == nil {
		return nil
	}
	return w.View.Catalog.Entries()
}

// fresh says whether the node's measurements may be shown.
func fresh(n *inventory.Node, now time.Time) bool {
	return n != nil && n.Sample != nil && now.Sub(n.SampleAt) <= FreshFor
}

// seconds is a span in whole seconds, never negative: clocks of two machines
// may disagree by a little.
func seconds(d time.Duration) int64 { return int64(max(0, d) / time.Second) }

const mibPerGiB = 1024

// gib is MiB in whole GiB; nil when the amount is not known.
func gib(mib int64) *int64 {
	if mib <= 0 {
		return nil
	}
	v := mib / mibPerGiB
	return &v
}

// listed is a list that is never null.
func listed[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
