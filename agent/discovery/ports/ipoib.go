package ports

import (
	"cmp"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"llmgw.io/llmgw/inventory"
)

const (
	// typeInfiniBand is what the kernel calls network devices for IP over InfiniBand.
	typeInfiniBand = "32"
	// wholeFabric are the lower 15 bits of the key of the partition that all are in.
	wholeFabric = 0x7fff
	// mostDevices bounds how many network devices of a machine are looked at.
	mostDevices = 4096
)

// ipoib is a network device for IP over an InfiniBand port.
type ipoib struct {
	name string
	// device is the resolved folder of its adapter on the bus, port its port there.
	device string
	port   int
	// whole: it is in the partition that all of a fabric are in.
	whole bool
}

// overIP finds the network devices by which the InfiniBand ports of the list speak IP.
// Of several of one port, one that has an address goes first, then one of the whole
// fabric, then the one that is called first.
func (r *Reader) overIP(list []inventory.Port) {
	var found []ipoib
	var addressed map[string]bool
	for i := range list {
		p := &list[i]
		if p.LinkLayer != layerInfiniBand {
			continue
		}
		if addressed == nil {
			found, addressed = r.ipoibs(), r.addressed()
		}
		device, err := filepath.EvalSymlinks(r.sys(filepath.Join("class/infiniband", p.HCA, "device")))
		if err != nil {
			continue
		}
		var best *ipoib
		for j := range found {
			f := &found[j]
			if f.device == device && f.port == p.Port && (best == nil || before(f, best, addressed)) {
				best = f
			}
		}
		if best != nil {
			p.Interface = best.name
		}
	}
}

func before(a, b *ipoib, addressed map[string]bool) bool {
	rank := func(d *ipoib) int {
		n := 0
		if addressed[d.name] {
			n += 2
		}
		if d.whole {
			n++
		}
		return n
	}
	return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.name, b.name)) < 0
}

// ipoibs lists the machine's network devices for IP over InfiniBand.
func (r *Reader) ipoibs() (out []ipoib) {
	entries, _ := os.ReadDir(r.sys("class/net"))
	for _, e := range entries[:min(len(entries), mostDevices)] {
		at := r.sys(filepath.Join("class/net", e.Name()))
		if word(filepath.Join(at, "type")) != typeInfiniBand {
			continue
		}
		device, err := filepath.EvalSymlinks(filepath.Join(at, "device"))
		if err != nil {
			continue
		}
		key, err := strconv.ParseUint(word(filepath.Join(at, "pkey")), 0, 16)
		out = append(out, ipoib{name: e.Name(), device: device, port: portOf(at), whole: err != nil || key&wholeFabric == wholeFabric})
	}
	return out
}

// portOf is which port of its adapter a network device is of. The kernel counts them
// from 0, in dev_port; before it had that, or where a driver leaves it at 0, in dev_id.
func portOf(at string) int {
	if n, err := strconv.ParseUint(word(filepath.Join(at, "dev_port")), 10, 16); err == nil && n > 0 {
		return int(n) + 1
	}
	n, err := strconv.ParseUint(word(filepath.Join(at, "dev_id")), 0, 16)
	if err != nil {
		return 1
	}
	return int(n) + 1
}

// addressed tells which network devices have an address that others reach.
func (r *Reader) addressed() map[string]bool {
	out := map[string]bool{}
	addrs, _ := r.cfg.Addrs() // without any, names decide
	for _, a := range addrs {
		if reachable(a.Prefix) {
			out[a.Interface] = true
		}
	}
	return out
}

func reachable(p netip.Prefix) bool {
	a := p.Addr()
	return a.IsValid() && !a.IsLinkLocalUnicast() && !a.IsLoopback() && !a.IsUnspecified()
}
