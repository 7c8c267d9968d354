package inventorytest

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
)

func memory(n *inventory.Node, v string) (err error) {
	n.Facts.MemoryMB, err = size(v)
	return err
}

func cores(n *inventory.Node, v string) (err error) {
	n.Facts.CPUs, err = number(v)
	return err
}

func reserve(n *inventory.Node, v string) (err error) {
	mem, cpus, both := strings.Cut(v, "/")
	if n.Facts.ReserveMB, err = size(mem); err != nil || !both {
		return err
	}
	n.Facts.ReserveCPUs, err = number(cpus)
	return err
}

func disk(n *inventory.Node, v string) (err error) {
	free, total, both := strings.Cut(v, "/")
	if n.Facts.DiskFreeMB, err = size(free); err != nil || !both {
		return err
	}
	n.Facts.DiskTotalMB, err = size(total)
	if err == nil && n.Facts.DiskTotalMB < n.Facts.DiskFreeMB {
		err = errors.New("more is free than there is; write free/total")
	}
	return err
}

func engines(n *inventory.Node, v string) error {
	n.Facts.Engines = []inventory.Engine{}
	if v == "none" {
		return nil
	}
	for part := range strings.SplitSeq(v, "+") {
		name, build, _ := strings.Cut(part, ":")
		if name == "" || name == "none" {
			return errors.New("an engine has no name; write name or name:build, or none alone")
		}
		n.Facts.Engines = append(n.Facts.Engines, inventory.Engine{Name: name, Build: build})
	}
	return nil
}

func weights(n *inventory.Node, v string) error {
	n.Facts.Weights = []inventory.Weight{}
	if v == "none" {
		return nil
	}
	for part := range strings.SplitSeq(v, "+") {
		file, amount, ok := strings.Cut(part, ":")
		if !ok || file == "" {
			return fmt.Errorf("%q is not path:size, such as q8.gguf:7", part)
		}
		mb, err := size(amount)
		if err != nil {
			return err
		}
		n.Facts.Weights = append(n.Facts.Weights, inventory.Weight{Path: path.Clean(file), Bytes: mb << 20})
	}
	return nil
}

func fabric(n *inventory.Node, v string) error {
	for i, part := range strings.Split(v, "+") {
		name, network, at := strings.Cut(part, "@")
		if name == "" && network == "" || at && network == "" {
			return fmt.Errorf("%q is not name, name@network or @network", part)
		}
		n.Facts.Ports = append(n.Facts.Ports, inventory.Port{
			HCA: "mlx5_" + strconv.Itoa(i), Port: 1, State: "ACTIVE", Active: true, Fabric: name, Physical: network,
		})
	}
	return nil
}

func imex(n *inventory.Node, v string) error {
	state, channels, counted := strings.Cut(v, "/")
	n.Facts.IMEX = state
	if !counted {
		return nil
	}
	c, err := number(channels)
	n.Facts.IMEXChannels = &c
	return err
}

func skew(n *inventory.Node, v string) (err error) {
	n.ClockSkew, err = time.ParseDuration(v)
	if err != nil {
		return fmt.Errorf("%q is not a span such as 6m or -40s", v)
	}
	return nil
}

// alloc reads shard:model:devices and what is reserved beside them.
func alloc(n *inventory.Node, v string) error {
	parts := strings.Split(v, ":")
	if len(parts) < 3 || parts[0] == "" || parts[1] == "" {
		return errors.New("write shard:model:devices, such as llama-1.0:llama:0-3, with - for no device")
	}
	a := inventory.Allocation{Shard: parts[0], Replica: replicaOf(parts[0]), Model: parts[1], Node: n.ID}
	for _, o := range n.Allocations {
		if o.Shard == a.Shard {
			return fmt.Errorf("shard %s stands there twice; give every shard its own id", a.Shard)
		}
	}
	if parts[2] != "-" {
		var err error
		if a.Devices, err = shares(n, parts[2]); err != nil {
			return err
		}
	}
	for _, extra := range parts[3:] {
		if err := reservation(&a, extra); err != nil {
			return err
		}
	}
	n.Allocations = append(n.Allocations, a)
	return nil
}

func reservation(a *inventory.Allocation, v string) (err error) {
	key, amount, _ := strings.Cut(v, "=")
	switch key {
	case "mem":
		a.MemoryMB, err = size(amount)
	case "cpu":
		a.Cores, err = number(amount)
	case "disk":
		a.DiskMB, err = size(amount)
	default:
		err = fmt.Errorf("%q reserves nothing; want mem=, cpu= or disk=", v)
	}
	return err
}

func replicaOf(shard string) string {
	if i := strings.LastIndexByte(shard, '.'); i > 0 {
		return shard[:i]
	}
	return shard
}

// size reads GiB, or MiB with an M behind, as MiB.
func size(v string) (int64, error) {
	digits, inMiB := strings.CutSuffix(v, "M")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 1<<30 {
		return 0, fmt.Errorf("%q is not a size; write GiB such as 512, or MiB such as 512M", v)
	}
	if inMiB {
		return n, nil
	}
	return n << 10, nil
}

func number(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 1<<20 {
		return 0, fmt.Errorf("%q is not a number such as 8", v)
	}
	return n, nil
}
