package inventorytest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// mostDevices bounds one node, so that a slip of a finger fills no memory.
const mostDevices = 256

// problem is what every unhealthy device of a text has.
const problem = "marked unhealthy in the fleet's text"

func gpus(n *inventory.Node, v string) error {
	card := 0
	for part := range strings.SplitSeq(v, "+") {
		count, class, err := counted(part, "8xH100-80")
		if err != nil {
			return err
		}
		for range count {
			d := inventory.Device{Label: strconv.Itoa(card), Card: card, Class: inventory.Class(class), MemoryMB: classMB(class)}
			if err := add(n, d); err != nil {
				return err
			}
			card++
		}
	}
	return nil
}

func mig(n *inventory.Node, v string) error {
	for part := range strings.SplitSeq(v, "+") {
		at, rest, ok := strings.Cut(part, ":")
		card, err := number(at)
		if !ok || err != nil {
			return fmt.Errorf("%q is not card:countxprofile, such as 0:2x3g.40gb", part)
		}
		count, profile, err := counted(rest, "2x3g.40gb")
		if err != nil {
			return err
		}
		if slices.ContainsFunc(n.Facts.Devices, func(d inventory.Device) bool { return d.Card == card }) {
			return fmt.Errorf("card %d is there already; give instances a card of their own", card)
		}
		for i := range count {
			d := inventory.Device{
				Label: fmt.Sprintf("%d/mig%d", card, i), Card: card, MIGProfile: profile,
				Class: inventory.Class(profile), MemoryMB: migMB(profile),
			}
			if err := add(n, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func add(n *inventory.Node, d inventory.Device) error {
	if len(n.Facts.Devices) == mostDevices {
		return fmt.Errorf("a node may have %d devices; split it", mostDevices)
	}
	d.Index, d.NUMA = len(n.Facts.Devices), -1
	n.Facts.Devices = append(n.Facts.Devices, d)
	return nil
}

func counted(v, such string) (int, string, error) {
	c, name, ok := strings.Cut(v, "x")
	count, err := strconv.Atoi(c)
	if !ok || err != nil || count < 1 || name == "" {
		return 0, "", fmt.Errorf("%q is not a count, an x and a class, such as %s", v, such)
	}
	return count, name, nil
}

// classMB is the memory that a class's name tells of; zero when it does not.
func classMB(class string) int64 {
	gb, err := strconv.ParseInt(class[strings.LastIndexByte(class, '-')+1:], 10, 32)
	if err != nil || gb < 0 {
		return 0
	}
	return gb << 10
}

func migMB(profile string) int64 {
	_, memory, _ := strings.Cut(profile, ".")
	digits, ok := strings.CutSuffix(memory, "gb")
	gb, err := strconv.ParseInt(digits, 10, 32)
	if !ok || err != nil || gb < 0 {
		return 0
	}
	return gb << 10
}

func capability(n *inventory.Node, v string) error {
	for i := range n.Facts.Devices {
		n.Facts.Devices[i].ComputeCapability = v
	}
	return nil
}

func unhealthy(n *inventory.Node, v string) error {
	which, err := indexes(n, v)
	for _, i := range which {
		n.Facts.Devices[i].Problem = problem
	}
	return err
}

func foreign(n *inventory.Node, v string) error {
	for part := range strings.SplitSeq(v, "+") {
		which, amount, ok := strings.Cut(part, ":")
		if !ok {
			return fmt.Errorf("%q is not devices:size, such as 3:60", part)
		}
		mb, err := size(amount)
		if err != nil {
			return err
		}
		at, err := indexes(n, which)
		if err != nil {
			return err
		}
		for _, i := range at {
			n.Facts.Devices[i].ForeignMB = mb
		}
	}
	return nil
}

func nvlink(n *inventory.Node, v string) error {
	for part := range strings.SplitSeq(v, "|") {
		group, err := indexes(n, part)
		if err != nil {
			return err
		}
		if len(group) < 2 {
			return fmt.Errorf("%q is no group; link two devices or more", part)
		}
		for _, i := range group {
			d := &n.Facts.Devices[i]
			if len(d.NVLinkPeers) > 0 {
				return fmt.Errorf("device %d is in two groups; name it once", i)
			}
			d.NVLinkPeers = slices.DeleteFunc(slices.Clone(group), func(o int) bool { return o == i })
		}
	}
	return nil
}

func domain(n *inventory.Node, v string) error {
	if len(n.Facts.Devices) == 0 {
		return errors.New("there are no devices to be in it; give the node some with gpu=")
	}
	for i := range n.Facts.Devices {
		n.Facts.Devices[i].Domain = v
	}
	return nil
}

// nic reads adapters as groups of devices, each with the path to it that is
// meant: 0-3:PIX|4-7:PHB, from adapter mlx5_0.
func nic(n *inventory.Node, v string) error {
	for at, part := range strings.Split(v, "|") {
		which, rank, _ := strings.Cut(part, ":")
		group, err := indexes(n, which)
		if err != nil {
			return err
		}
		for _, i := range group {
			d := &n.Facts.Devices[i]
			if d.NearestNIC != "" {
				return fmt.Errorf("device %d is near two adapters; name it once", i)
			}
			d.NearestNIC, d.NICPath = "mlx5_"+strconv.Itoa(at), rank
		}
	}
	return nil
}

func numa(n *inventory.Node, v string) error {
	for at, part := range strings.Split(v, "|") {
		group, err := indexes(n, part)
		if err != nil {
			return err
		}
		for _, i := range group {
			if n.Facts.Devices[i].NUMA >= 0 {
				return fmt.Errorf("device %d is at two memory nodes; name it once", i)
			}
			n.Facts.Devices[i].NUMA = at
		}
	}
	return nil
}

func pci(n *inventory.Node, v string) error {
	for at, part := range strings.Split(v, "|") {
		group, err := indexes(n, part)
		if err != nil {
			return err
		}
		for _, i := range group {
			if n.Facts.Devices[i].PCIRoot != "" {
				return fmt.Errorf("device %d is behind two roots; name it once", i)
			}
			n.Facts.Devices[i].PCIRoot = pciRoot(at)
		}
	}
	return nil
}

// pciRoot is the name of a text's root.
func pciRoot(at int) string { return fmt.Sprintf("0000:%02x", at) }

// shares reads devices that are allocated: 0-3, or 2@8 for a part of one.
func shares(n *inventory.Node, v string) ([]inventory.DeviceShare, error) {
	which, part, shared := strings.Cut(v, "@")
	at, err := indexes(n, which)
	if err != nil {
		return nil, err
	}
	var mb int64
	if shared {
		if mb, err = size(part); err != nil {
			return nil, err
		}
		if mb == 0 {
			return nil, errors.New("a share of nothing; leave the @ out for a whole device")
		}
	}
	out := make([]inventory.DeviceShare, len(at))
	for i, index := range at {
		out[i] = inventory.DeviceShare{Index: index, MemoryMB: mb}
	}
	return out, nil
}

// indexes reads "0-3,5" as devices that the node has, each once, in order.
func indexes(n *inventory.Node, v string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(v, ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := number(from)
		b := a
		if err == nil && isRange {
			b, err = number(to)
		}
		if err != nil || b < a {
			return nil, fmt.Errorf("%q is not a list of devices, such as 0-3,5", v)
		}
		if b >= len(n.Facts.Devices) {
			return nil, fmt.Errorf("there is no device %d; the node has %d, counted from 0", b, len(n.Facts.Devices))
		}
		for i := a; i <= b; i++ {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
