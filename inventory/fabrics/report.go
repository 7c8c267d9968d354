package fabrics

import (
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
)

// Report is every network that a port is on, and what is wrong with them.
type Report struct {
	// Physical are the networks found, ordered by key.
	Physical []Physical
	// Problems are ordered by fabric, then by kind.
	Problems []Problem
	// Changes are those of subnet managers, the newest first.
	Changes []Change
}

// Physical is one network as its ports say it is.
type Physical struct {
	// Key is the network's: "sm:" and a GUID, "roce:" and a network, or "declared:"
	// and a name where the ports do not say which network they are on.
	Key string
	// Label is the key for people.
	Label string
	// Declared are the names its ports were given, in order.
	Declared []string
	// Nodes are those with an active port on it, in order; Ports counts the ports.
	Nodes []inventory.NodeID
	Ports int
	// SM is who manages it. Nil: it is no InfiniBand, or nobody knows.
	SM *Manager
	// SMs are all managers, the standing-by ones too, the master first.
	SMs []Manager
	// SMError is why its manager could not be asked, by one port. Empty: it was.
	SMError string
}

// ID is the network's key as it stands in paths.
func (p *Physical) ID() string { return ID(p.Key) }

// ID is a network's key as it stands in paths: without colons and slashes.
func ID(key string) string { return strings.NewReplacer(":", "-", "/", "_").Replace(key) }

// Name is what people call the network: its declared name where it has just one.
func (p *Physical) Name() string {
	if len(p.Declared) == 1 {
		return p.Declared[0]
	}
	return p.ID()
}

// Manager is a subnet manager, and where it runs.
type Manager struct {
	inventory.SubnetManager
	// Node has the port that it runs at. Empty: none that is known, such as a
	// switch.
	Node inventory.NodeID
}

// Kind is what kind of problem there is.
type Kind string

// The kinds of problems: the list is closed.
const (
	// Split: one name is on several InfiniBand networks.
	Split Kind = "split"
	// Merged: several names are on one network.
	Merged Kind = "merged"
	// Unmanaged: ports are linked up, and no subnet manager configures them.
	Unmanaged Kind = "unmanaged"
	// Degraded: ports are slower than the others of their network.
	Degraded Kind = "degraded"
	// Errors: ports count errors.
	Errors Kind = "errors"
	// Down: ports that were in use, or are on other nodes, are not.
	Down Kind = "down"
	// SMChanged: another subnet manager took over.
	SMChanged Kind = "sm_changed"
	// MTU: ports of one network take packets of different sizes.
	MTU Kind = "mtu"
)

// Problem is something wrong with one fabric.
type Problem struct {
	// Fabric is the declared name; else the network's id; "none" where a port is
	// on no network.
	Fabric string
	Kind   Kind
	// Text is a sentence or two, with the next step.
	Text string
	// Nodes are those whose ports it is about, in order. Nil: all of the fabric.
	Nodes []inventory.NodeID
	// Since is when it was first seen. Zero: it was not watched for.
	Since time.Time
}

// Change is a subnet manager that took over from another.
type Change struct {
	// Key is the network's, as it is now.
	Key string
	// From and To are port GUIDs.
	From, To string
	// At is when it was seen.
	At time.Time
}

// Find is the network of an id. The id that a network had under a manager before
// finds it, too. False: there is none.
func (r *Report) Find(id string) (*Physical, bool) {
	at := func(key string) *Physical {
		for i := range r.Physical {
			if r.Physical[i].Key == key {
				return &r.Physical[i]
			}
		}
		return nil
	}
	for i := range r.Physical {
		if r.Physical[i].ID() == id {
			return &r.Physical[i], true
		}
	}
	for _, c := range r.Changes {
		if ID(inventory.KeySM+c.From) == id {
			if p := at(c.Key); p != nil {
				return p, true
			}
		}
	}
	return nil, false
}
