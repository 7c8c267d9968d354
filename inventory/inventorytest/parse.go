package inventorytest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// Parse reads a fleet, one node a line: its id, then words. Empty lines and
// what follows a # are skipped. All complaints are joined, each with its line.
//
//	gpu=8xH100-80             cards; several kinds with +; 80 GiB by the class's name
//	mig=8:2x3g.40gb           instances on card 8; several cards with +
//	cc=9.0                    compute capability of every device
//	unhealthy=3,5             devices with a problem
//	foreign=3:60+4:1          memory of devices that others use
//	nvlink=0-3|4-7            groups of linked devices
//	numa=0-3|4-7              devices by memory node, from node 0
//	pci=0-3|4-7               devices by root of the bus, from 0000:00
//	mem=2048  cpu=96          host memory and cores
//	reserve=16  reserve=16/4  memory, or memory and cores, kept for the system
//	disk=500  disk=500/2000   free, or free and total
//	engines=vllm:cu129+sim    engines with builds; "none"; absent: not said
//	weights=q8.gguf:7+x/:80   files on disk with sizes; "none"; absent: not looked
//	fabric=ib0+ib1@fe80       the fabrics of its ports, with the network's identity
//	nvl=r1/1  imex=READY/1    the NVLink domain of its devices, its service, channels
//	nic=0-3:PIX|4-7:PHB       devices by nearest adapter, with the path to it
//	rack=r1  row=  room=  site=  pdu=  pool=  label.k=v    the agent's labels
//	cordoned  draining        what people want
//	unreachable  lost         what is heard
//	skew=6m                   how far its clock is ahead
//	alloc=m-1.0:m:0-3         shard, model and devices that are allocated;
//	                          2@8 is 8 of device 2, - is no device; then, with
//	                          further colons, mem=, cpu= and disk=
//
// A line "hold rack:r1 "PDU swap"" holds a domain, with "out" after it for one
// whose replicas are carried out.
//
// alloc and label may stand several times. Sizes are GiB; 512M is MiB. Nodes
// get version 1, and a shard's replica is what is before its last dot.
func Parse(text string) (*inventory.Snapshot, error) {
	var nodes []*inventory.Node
	var holds []inventory.Hold
	var bad []error
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if words[0] == "hold" {
			h, err := hold(line)
			if err != nil {
				bad = append(bad, fmt.Errorf("line %d: %w", i+1, err))
			}
			holds = append(holds, h)
			continue
		}
		n, err := node(words)
		if err == nil && slices.ContainsFunc(nodes, func(o *inventory.Node) bool { return o.ID == n.ID }) {
			err = errors.New("stands there twice; give every node its own id")
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("line %d: node %s: %w", i+1, words[0], err))
			continue
		}
		nodes = append(nodes, n)
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	return inventory.NewSnapshot(1, nodes).WithHolds(holds, begun), nil
}

func node(words []string) (*inventory.Node, error) {
	if strings.Contains(words[0], "=") {
		return nil, errors.New("the line begins with a word; begin it with the node's id")
	}
	n := &inventory.Node{ID: inventory.NodeID(words[0]), Hearing: inventory.Heard, ShardsKnown: true, Version: 1}
	n.Settings.Node = n.ID
	// What a word says of devices needs the devices: gpu before mig, both
	// before the rest.
	words = slices.Clone(words[1:])
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(turn(a), turn(b)) })
	seen := map[string]bool{}
	for _, w := range words {
		key, value, has := strings.Cut(w, "=")
		if seen[key] && key != "alloc" {
			return nil, fmt.Errorf("%s stands there twice; say it once", key)
		}
		seen[key] = true
		if err := word(n, key, value, has); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(n.Allocations, func(a, b inventory.Allocation) int { return cmp.Compare(a.Shard, b.Shard) })
	return n, nil
}

func turn(word string) int {
	switch {
	case strings.HasPrefix(word, "gpu="):
		return 0
	case strings.HasPrefix(word, "mig="):
		return 1
	}
	return 2
}

// word takes one word of a line.
func word(n *inventory.Node, key, value string, has bool) error {
	if !has {
		return flag(n, key)
	}
	if value == "" {
		return fmt.Errorf("%s= has no value; give it one or leave it out", key)
	}
	if name, ok := strings.CutPrefix(key, "label."); ok {
		return label(n, name, value)
	}
	if read, ok := keys[key]; ok {
		if err := read(n, value); err != nil {
			return fmt.Errorf("%s=%s: %w", key, value, err)
		}
		return nil
	}
	if l := inventory.Level(key); l != inventory.LevelNode && l.Valid() || key == "pool" {
		return label(n, inventory.LabelPrefix+key, value)
	}
	return fmt.Errorf("%s= means nothing here; want %s=, pool= or label.KEY=, and rack=, row=, room=, site= or pdu=", key, strings.Join(slices.Sorted(maps.Keys(keys)), "=, "))
}

// keys are the words with a value, beside labels.
var keys = map[string]func(n *inventory.Node, value string) error{
	"gpu": gpus, "mig": mig, "cc": capability, "unhealthy": unhealthy, "foreign": foreign,
	"nvlink": nvlink, "numa": numa, "pci": pci,
	"mem": memory, "cpu": cores, "reserve": reserve, "disk": disk, "engines": engines, "weights": weights,
	"fabric": fabric, "nvl": domain, "imex": imex, "nic": nic, "skew": skew, "alloc": alloc,
}

func flag(n *inventory.Node, key string) error {
	switch key {
	case "cordoned", "draining":
		n.Settings.Wish = inventory.Wish(key)
	case "unreachable", "lost":
		n.Hearing, n.ShardsKnown = inventory.Hearing(key), false
	default:
		return fmt.Errorf("%s means nothing here; want cordoned, draining, unreachable, lost, or key=value", key)
	}
	return nil
}

func label(n *inventory.Node, name, value string) error {
	if name == "" {
		return errors.New("a label has no name; write label.name=value")
	}
	if n.Facts.Labels == nil {
		n.Facts.Labels = map[string]string{}
	}
	n.Facts.Labels[name] = value
	return nil
}
