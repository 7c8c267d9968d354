// Package inventory holds the nouns of machines and the live registry of them.
//
// It says what there is: nodes, their devices, engines, weights and load as
// agents report them; what people set on a node; who occupies what. It is not
// a scheduler and it knows no model definitions: placement reads a [Snapshot]
// and decides, and the registry only keeps, at a compare-and-set, what was
// decided.
//
// Everything but [Registry] is a plain value. Values handed out by a Registry
// are shared and must not be changed; a Registry may be used by any number of
// goroutines at once.
//
// Start reading at node.go, then facts.go, room.go, snapshot.go and registry.go.
package inventory
