package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// What the keys of networks begin with, by what is known of them.
const (
	// KeySM is before the subnet manager's port GUID, KeyRoCE before the network
	// of a RoCE port, as agents say them in [Port.Physical].
	KeySM   = "sm:"
	KeyRoCE = "roce:"
	// KeyDeclared is before a declared name, where that is all that is known.
	KeyDeclared = "declared:"
)

// Key is the key of the network that the port is on: its own identity where
// the port says it, else made of the declared name. Empty: nothing is known.
func (p *Port) Key() string {
	if p.Physical == "" && p.Fabric != "" {
		return KeyDeclared + p.Fabric
	}
	return p.Physical
}

// ReachKey is the key that two ports have in common where they reach each other.
// Routes join networks of RoCE, and of those only people know: what they gave one
// name counts as one. An InfiniBand fabric ends where its manager's word ends,
// whatever it is called.
func (p *Port) ReachKey() string {
	if p.Fabric != "" && strings.HasPrefix(p.Physical, KeyRoCE) {
		return KeyDeclared + p.Fabric
	}
	return p.Key()
}

// Label is the network that the port is on in words: "SM <guid> (LID n)", or
// "RoCE <network>". Empty: the port does not say which.
func (p *Port) Label() string {
	if guid, ok := strings.CutPrefix(p.Physical, KeySM); ok {
		if lid := p.managerLID(); lid != 0 {
			return fmt.Sprintf("SM %s (LID %d)", guid, lid)
		}
		return "SM " + guid
	}
	if network, ok := strings.CutPrefix(p.Physical, KeyRoCE); ok {
		return "RoCE " + network
	}
	return p.Physical
}

// managerLID is the subnet manager's address, by the one who was asked before
// the one that the port was given. Zero: unknown.
func (p *Port) managerLID() int {
	if p.SM != nil && p.SM.LID != 0 {
		return p.SM.LID
	}
	return p.SMLID
}

// Fabrics are those the node is on with an active port, each once, ordered by
// key. Nil: none is known. A port that says neither its name nor its network is
// on none.
//
// While a subnet manager hands over to another, nodes say the one they asked
// last, for about a minute: until then no new group spans the two.
func (n *Node) Fabrics() []Fabric {
	var out []Fabric
	for i := range n.Facts.Ports {
		p := &n.Facts.Ports[i]
		if key := p.ReachKey(); p.Active && key != "" {
			out = append(out, Fabric{Key: key, Name: p.Fabric})
		}
	}
	slices.SortFunc(out, func(a, b Fabric) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Name, b.Name)) })
	return slices.Compact(out)
}

// NVLinkDomain is the NVLink domain of several nodes that the node's devices
// are in. Empty: in none, or they do not all say the same one, as while a rack
// is being cabled. What is not used does not count: instances of partitioned
// cards reach nobody, and a device with a problem may well say nothing.
func (n *Node) NVLinkDomain() string {
	domain, silent := "", false
	for i := range n.Facts.Devices {
		switch d := &n.Facts.Devices[i]; {
		case d.MIG():
		case d.Domain == "":
			silent = silent || d.Healthy()
		case domain == "":
			domain = d.Domain
		case domain != d.Domain:
			return ""
		}
	}
	if silent {
		return ""
	}
	return domain
}

// IMEXReady is what a node's IMEX service says when devices of other nodes of
// its NVLink domain can be reached.
const IMEXReady = "READY"

// IMEXLacks is what keeps engines on the node from sharing memory with those on
// other nodes of its NVLink domain, as a clause. Empty: nothing, or the agent did
// not say, which refuses nothing.
func (n *Node) IMEXLacks() string {
	switch f := &n.Facts; {
	case f.IMEX != "" && f.IMEX != IMEXReady:
		return "its IMEX service says " + f.IMEX
	case f.IMEXChannels != nil && *f.IMEXChannels == 0:
		return "it has no IMEX channel"
	}
	return ""
}
