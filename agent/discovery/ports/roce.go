package ports

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/inventory"
)

const (
	typeRoCE2 = "RoCE v2"
	// nodeIWARP begins the node_type of adapters that speak Ethernet otherwise.
	nodeIWARP = "4"
	// roceHeaders is what the kernel takes off an interface's MTU for RoCE.
	roceHeaders = 96
)

// gid is an address of a RoCE port.
type gid struct {
	addr netip.Addr
	// iface is empty in another network namespace than the interface's.
	iface string
}

// networks finds which networks the RoCE ports of the list are on.
func (r *Reader) networks(list []inventory.Port) {
	var addrs []Addr
	var err error
	asked := false
	for i := range list {
		p := &list[i]
		if p.LinkLayer != layerEthernet || strings.HasPrefix(word(r.sys(filepath.Join("class/infiniband", p.HCA, "node_type"))), nodeIWARP) {
			continue
		}
		if !asked {
			addrs, err = r.cfg.Addrs()
			asked = true
		}
		r.network(p, addrs, err)
	}
}

// network finds the network of one. Why it has none is said in SMError, which is
// where people look for who manages a port.
func (r *Reader) network(p *inventory.Port, addrs []Addr, addrsErr error) {
	at := r.sys(filepath.Join("class/infiniband", p.HCA, "ports", strconv.Itoa(p.Port)))
	g, ok := bestGID(at)
	p.Interface = g.iface
	if p.Interface == "" {
		// Without an address it says no interface: the adapter's only one is meant.
		if list, _ := os.ReadDir(r.sys(filepath.Join("class/infiniband", p.HCA, "device/net"))); len(list) == 1 {
			p.Interface = list[0].Name()
		}
	}
	if mtu, err := strconv.Atoi(word(r.sys(filepath.Join("class/net", p.Interface, "mtu")))); err == nil && p.Interface != "" {
		p.MTU = pathMTU(mtu)
	}
	if !ok {
		if p.Active {
			p.SMError = "it has no RoCE v2 address; give its interface one"
		}
		return
	}
	net, ok := networkOf(g, addrs)
	switch {
	case !ok && addrsErr != nil:
		p.SMError = fmt.Sprintf("the network of its address %s is not known: %v", g.addr, addrsErr)
	case !ok:
		p.SMError = fmt.Sprintf("its address %s is on no interface that the agent sees; run the agent in the host's network", g.addr)
	default:
		p.Network = net.String()
		if net.Addr().BitLen()-net.Bits() <= 1 {
			// Where each link is a network, networks do not tell who reaches whom.
			p.SMError = fmt.Sprintf("its network %s joins two ports at most and names no fabric; declare the fabric", p.Network)
			return
		}
		p.Physical = "roce:" + p.Network
	}
}

// bestGID is the address that traffic takes: an IPv4 one before a global IPv6
// one. The place of an address in the table moves, so it is looked for each time.
func bestGID(at string) (gid, bool) {
	entries, _ := os.ReadDir(filepath.Join(at, "gids"))
	slices.SortFunc(entries, func(a, b os.DirEntry) int {
		x, _ := strconv.Atoi(a.Name())
		y, _ := strconv.Atoi(b.Name())
		return cmp.Compare(x, y)
	})
	var v6 gid
	for i, e := range entries {
		if i >= mostGIDs {
			break
		}
		addr, err := netip.ParseAddr(word(filepath.Join(at, "gids", e.Name())))
		// An empty place answers a look at its type with an error: it is not looked at.
		if err != nil || addr.IsUnspecified() || addr.IsLinkLocalUnicast() ||
			word(filepath.Join(at, "gid_attrs/types", e.Name())) != typeRoCE2 {
			continue
		}
		g := gid{addr: addr.Unmap(), iface: word(filepath.Join(at, "gid_attrs/ndevs", e.Name()))}
		if g.addr.Is4() {
			return g, true
		}
		if !v6.addr.IsValid() {
			v6 = g
		}
	}
	return v6, v6.addr.IsValid()
}

// networkOf finds the network of an address by the interface that has it.
func networkOf(g gid, addrs []Addr) (netip.Prefix, bool) {
	for _, a := range addrs {
		if a.Prefix.Addr().Unmap() == g.addr && (g.iface == "" || a.Interface == g.iface) {
			return a.Prefix.Masked(), true
		}
	}
	return netip.Prefix{}, false
}

// pathMTU is the largest that InfiniBand knows and an interface has room for.
// Zero: it has room for none.
func pathMTU(iface int) int {
	for _, mtu := range []int{4096, 2048, 1024, 512, 256} {
		if iface-roceHeaders >= mtu {
			return mtu
		}
	}
	return 0
}

// systemAddrs lists the addresses of this machine's interfaces.
func systemAddrs() ([]Addr, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the interfaces: %w", err)
	}
	var out []Addr
	for _, i := range list {
		addrs, err := i.Addrs()
		if err != nil {
			continue // it is just going away
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				out = append(out, Addr{Interface: i.Name, Prefix: p})
			}
		}
	}
	return out, nil
}
