// Package survey keeps watch over the networks between nodes: it looks at what
// their ports say every few seconds, remembers it (inventory/fabrics), and has a
// node walk an InfiniBand fabric for its map, on order and when another subnet
// manager took over. One node of a fabric walks it, one walk at a time, and those
// nobody ordered are minutes apart: the packets of a walk are dropped under load.
//
// It decides nothing, and what it knows it knows in memory: after a start the
// first look is the base, there is no map, and no change is known. The root runs
// it beside the hub, which asks the agents, and gives it to the admin API. All
// methods of a Survey may be called at once.
//
// Start reading at survey.go, then scan.go.
package survey
