package pcipath

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Path is how far apart two devices are, in the words of nvidia-smi topo -m.
type Path string

// The paths, from the nearest on.
const (
	// Unknown: one of them is on no PCI bus, or the machine does not say.
	Unknown Path = ""
	// PIX crosses at most one bridge: both are on one switch.
	PIX Path = "PIX"
	// PXB crosses several bridges, and no host bridge.
	PXB Path = "PXB"
	// PHB crosses the host bridge: the processor.
	PHB Path = "PHB"
	// Node crosses from one host bridge to another of the same memory node.
	Node Path = "NODE"
	// Sys crosses from one memory node to another.
	Sys Path = "SYS"
)

// order is from the nearest on.
var order = []Path{PIX, PXB, PHB, Node, Sys}

// Nearer compares two paths: below zero when p is the shorter. Unknown is the
// longest.
func (p Path) Nearer(o Path) int { return p.place() - o.place() }

func (p Path) place() int {
	if i := slices.Index(order, p); i >= 0 {
		return i
	}
	return len(order)
}

// Device is where one device is.
type Device struct {
	// Chain is the host bridge ("pci0000:17"), then the address of each bridge on
	// the way, then the device's own. Empty: it is on no PCI bus.
	Chain []string
	// NUMA is its memory node; -1 when nobody says.
	NUMA int
}

// Root is the root of the bus it is on, as domain and bus: "0000:17". Empty: it
// is on none.
func (d Device) Root() string {
	if len(d.Chain) == 0 {
		return ""
	}
	return strings.TrimPrefix(d.Chain[0], "pci")
}

// Address is its own address: "0000:18:00.0". Empty: it is on no PCI bus.
func (d Device) Address() string {
	if len(d.Chain) < 2 {
		return ""
	}
	return d.Chain[len(d.Chain)-1]
}

var (
	address  = regexp.MustCompile(`^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
	hostRoot = regexp.MustCompile(`^pci[0-9a-f]{4,}:[0-9a-f]{2}$`)
)

// chain is what a path below sysfs's devices says: the host bridge and all
// addresses behind it. Some machines nest a second root in a device (volume
// management, some of ARM): the last one is the bus it is really on.
func chain(path string) []string {
	var out []string
	for e := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		switch {
		case hostRoot.MatchString(e):
			out = []string{e}
		case address.MatchString(e) && len(out) > 0:
			out = append(out, e)
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// Rank is the path from one device to another. Unknown too when both are the
// same one.
func Rank(a, b Device) Path {
	shared := 0
	for shared < min(len(a.Chain), len(b.Chain)) && a.Chain[shared] == b.Chain[shared] {
		shared++
	}
	restA, restB := len(a.Chain)-shared, len(b.Chain)-shared
	told := a.NUMA >= 0 && b.NUMA >= 0
	switch {
	case len(a.Chain) < 2 || len(b.Chain) < 2 || restA == 0 && restB == 0:
		return Unknown
	case shared == 0 && !told:
		return Unknown
	case shared == 0 && a.NUMA != b.NUMA:
		return Sys
	case shared == 0:
		return Node
	case shared == 1 && restA == 1 && restB == 1 && !told:
		// Everything stands right on one root and nobody knows a memory node: a
		// virtual machine, which shows no bridge that there is.
		return Unknown
	case shared == 1:
		return PHB
	case restA <= 2 && restB <= 2:
		// Below the bridge that they share stands at most a port of it and the
		// device itself: it is one switch.
		return PIX
	default:
		return PXB
	}
}

// Nearest is the adapter with the shortest path, of equal ones the first by
// name. Empty: none has a known path.
func Nearest(d Device, adapters map[string]Device) (name string, path Path) {
	for n, a := range adapters {
		p := Rank(d, a)
		if p == Unknown {
			continue
		}
		if c := p.Nearer(path); c < 0 || c == 0 && (name == "" || n < name) {
			name, path = n, p
		}
	}
	return name, path
}
