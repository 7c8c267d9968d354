package inventory

// Level is a level of the building, or the node itself.
type Level string

// The levels, from the widest.
const (
	LevelSite Level = "site"
	LevelRoom Level = "room"
	LevelRow  Level = "row"
	LevelRack Level = "rack"
	LevelPDU  Level = "pdu"
	LevelNode Level = "node"
)

// Levels lists every level a spread may name, the narrowest first.
var Levels = []Level{LevelNode, LevelRack, LevelPDU, LevelRow, LevelRoom, LevelSite}

// Valid reports whether l is one of the levels.
func (l Level) Valid() bool {
	switch l {
	case LevelSite, LevelRoom, LevelRow, LevelRack, LevelPDU, LevelNode:
		return true
	}
	return false
}

// LabelPrefix is before the labels that llmgw itself reads.
const LabelPrefix = "llmgw.io/"

// Domain returns the domain of a level the node stands in: its own id for
// LevelNode, else the label "llmgw.io/<level>". Empty: the node does not say.
func (n *Node) Domain(l Level) string {
	if l == LevelNode {
		return string(n.ID)
	}
	return n.Label(LabelPrefix + string(l))
}

// Location is where a node stands. Empty: the node does not say.
type Location struct {
	Site, Room, Row, Rack, PDU string
}

// Location reads the node's place in the building from its labels.
func (n *Node) Location() Location {
	return Location{
		Site: n.Domain(LevelSite), Room: n.Domain(LevelRoom), Row: n.Domain(LevelRow),
		Rack: n.Domain(LevelRack), PDU: n.Domain(LevelPDU),
	}
}

// Pool is the pool the node is in, its label "llmgw.io/pool". A node in a pool
// takes only what asks for that pool. Empty: in none.
func (n *Node) Pool() string { return n.Label(LabelPrefix + "pool") }
