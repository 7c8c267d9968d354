package fix

import (
	"fmt"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

func imex(n *inventory.Node) change {
	return on(n, IMEX, func() (detail, text string) {
		if s := n.Facts.IMEX; s != "" && s != inventory.IMEXReady {
			return "it says " + s, "start IMEX on node " + string(n.ID)
		}
		return n.IMEXLacks(), "make an IMEX channel on node " + string(n.ID)
	}, func(n *inventory.Node) { n.Facts.IMEX, n.Facts.IMEXChannels = inventory.IMEXReady, nil })
}

// free ends what llmgw did not start on a node's devices.
func (l *looking) free(n *inventory.Node) []change {
	return l.devices(n, Clear, func(d *inventory.Device) string {
		if d.ForeignMB == 0 {
			return ""
		}
		return fmt.Sprintf("%s of device %s are used", gib(d.ForeignMB), d.Label)
	}, func(d *inventory.Device) { d.ForeignMB = 0 })
}

// repair mends a node's devices.
func (l *looking) repair(n *inventory.Node) []change {
	return l.devices(n, Repair, func(d *inventory.Device) string {
		if d.Healthy() {
			return ""
		}
		return fmt.Sprintf("device %s: %s", d.Label, d.Problem)
	}, func(d *inventory.Device) { d.Problem = "" })
}

// devices changes a node's devices of the profile's class, where any has a
// fault.
func (l *looking) devices(n *inventory.Node, do Do, fault func(d *inventory.Device) string, edit func(d *inventory.Device)) []change {
	suits := func(d *inventory.Device) bool {
		gpu := l.profile.GPU
		return gpu != nil && (gpu.Class == "" || gpu.Class == d.Class)
	}
	var faults []string
	for i := range n.Facts.Devices {
		if d := &n.Facts.Devices[i]; suits(d) {
			if f := fault(d); f != "" {
				faults = append(faults, f)
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	text := "repair the devices of node "
	if do == Clear {
		text = "end what llmgw did not start on the devices of node "
	}
	return []change{on(n, do, func() (detail, t string) { return shortened(faults), text + string(n.ID) }, func(n *inventory.Node) {
		n.Facts.Devices = slices.Clone(n.Facts.Devices)
		for i := range n.Facts.Devices {
			if d := &n.Facts.Devices[i]; suits(d) {
				edit(d)
			}
		}
	})}
}

// mostFaults is how many faults of a node are told.
const mostFaults = 3

func shortened(faults []string) string {
	if more := len(faults) - mostFaults; more > 0 {
		faults = append(slices.Clone(faults[:mostFaults]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(faults, "; ")
}
