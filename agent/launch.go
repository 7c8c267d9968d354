package agent

import (
	"context"
	"fmt"
	"net"
	"os"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// prepare adds to a launch what this machine knows of the shard's devices, of its
// weights and of the way to the replica's other shards.
func (a *Agent) prepare(ctx context.Context, d protocol.DesiredShard, at *protocol.Launch) error {
	at.Devices = a.devicesOf(d)
	at.WeightsBytes = onDisk(at.Weights)
	if d.Of <= 1 {
		return nil
	}
	at.Addr = a.mgmtAddr(ctx)
	at.Interface = interfaceOf(at.Addr)
	if d.Rank == 0 && d.LeaderPort > 0 && (!bindable(at.Addr, d.LeaderPort) || !bindable(at.Addr, d.LeaderPort+1)) {
		return failed(protocol.CausePort, fmt.Sprintf("the shards of this replica are to find each other at ports %d and %d of this node, and another program listens there; the next replica takes others", d.LeaderPort, d.LeaderPort+1))
	}
	return nil
}

// devicesOf is what the facts say of a shard's devices, in the shard's order. Nil:
// they say nothing of any.
func (a *Agent) devicesOf(d protocol.DesiredShard) []inventory.Device {
	facts, _ := a.facts.current()
	known := map[int]inventory.Device{}
	for _, dev := range facts.Devices {
		known[dev.Index] = dev
	}
	var out []inventory.Device
	found := false
	for _, s := range d.Devices {
		dev, ok := known[s.Index]
		if !ok {
			dev = inventory.Device{Index: s.Index}
		}
		found = found || ok
		out = append(out, dev)
	}
	if !found {
		return nil
	}
	return out
}

// onDisk is the size of files together. Zero: one of them does not say.
func onDisk(paths []string) int64 {
	var n int64
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return 0
		}
		n += info.Size()
	}
	return n
}

// interfaceOf is the network device that has an address. Empty: none has, or the
// system does not say.
func interfaceOf(addr string) string {
	want := net.ParseIP(addr)
	list, err := net.Interfaces()
	if err != nil || want == nil {
		return ""
	}
	for _, i := range list {
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, at := range addrs {
			if n, ok := at.(*net.IPNet); ok && n.IP.Equal(want) {
				return i.Name
			}
		}
	}
	return ""
}
