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
