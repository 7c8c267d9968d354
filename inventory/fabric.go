package inventory

import (
	"cmp"
	"slices"
)

// Fabric is a network between nodes that their devices' traffic may take.
type Fabric struct {
	// Key tells physical networks apart: two nodes can reach each other where
	// they have a key in common. It is the network's own identity where a port
	// says it, else made of the declared name.
	Key string
	// Name is the declared name. Empty: undeclared.
	Name string
}

// Fabrics are those the node is on with an active port, each once, ordered by
// key. Nil: none is known. A port that says neither its name nor its network is
// on none.
func (n *Node) Fabrics() []Fabric {
	var out []Fabric
	for i := range n.Facts.Ports {
		p := &n.Facts.Ports[i]
		if !p.Active || p.Fabric == "" && p.Physical == "" {
			continue
		}
		f := Fabric{Key: p.Physical, Name: p.Fabric}
		if f.Key == "" {
			f.Key = "declared:" + p.Fabric
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Fabric) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Name, b.Name)) })
	return slices.Compact(out)
}

// NVLinkDomain is the NVLink domain of several nodes that the node's devices
// are in. Empty: in none, or they do not all say the same one, as while a rack
// is being cabled.
func (n *Node) NVLinkDomain() string {
	domain := ""
	for i := range n.Facts.Devices {
		switch d := n.Facts.Devices[i].Domain; {
		case d == "":
		case domain == "":
			domain = d
		case domain != d:
			return ""
		}
	}
	return domain
}

// IMEXReady is what a node's IMEX service says when devices of other nodes of
// its NVLink domain can be reached.
const IMEXReady = "READY"
