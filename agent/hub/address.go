package hub

import (
	"net"
	"net/netip"
	"slices"

	"llmgw.io/llmgw/inventory"
)

// metadata are where clouds hand out credentials, beside what is link-local. No
// machine of a cluster has such an address.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"), netip.MustParseAddr("fd20:ce::254"),
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("192.0.0.192"),
}

// mayBe reports whether a machine that calls from peer may call an address its
// own. Loopback is only for those that are on this machine.
func mayBe(a, peer netip.Addr) bool {
	a, peer = a.Unmap(), peer.Unmap()
	switch {
	case a.Zone() != "", slices.Contains(metadata, a):
		return false
	case a.IsLoopback():
		return peer.IsLoopback()
	case a.IsUnspecified(), a.IsMulticast(), a.IsLinkLocalUnicast(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return a == peer
	}
	return true
}

// anothers reports whether an address is known to be somebody else's: another
// node's, or this machine's where the node is elsewhere. One that the node calls
// from is its own, whoever said before that it was his.
func (h *Hub) anothers(a netip.Addr, node inventory.NodeID, peer netip.Addr) bool {
	a, peer = a.Unmap(), peer.Unmap()
	if a == peer || a.IsLoopback() {
		return false
	}
	for _, n := range h.cfg.Registry.Snapshot().Nodes() {
		if m, err := netip.ParseAddr(n.Facts.MgmtAddr); err == nil && m.Unmap() == a && n.ID != node {
			return true
		}
	}
	return !peer.IsLoopback() && ours(a) && !ours(peer)
}

// ours reports whether an address is this machine's. Where the machine does not
// say, none counts as its own: agents must go on.
func ours(a netip.Addr) bool {
	addrs, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(addrs, func(at net.Addr) bool {
		p, err := netip.ParsePrefix(at.String())
		return err == nil && p.Addr().Unmap() == a
	})
}

// reachable reports whether routers may be sent to an address: it must be of
// the machine that says so, or a node could point them at anything.
func reachable(address, mgmt string, peer netip.Addr) bool {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || ap.Port() == 0 {
		return false
	}
	a, peer := ap.Addr().Unmap(), peer.Unmap()
	if a.IsLoopback() {
		return peer.IsLoopback()
	}
	m, err := netip.ParseAddr(mgmt)
	return a == peer || err == nil && m.Unmap() == a && mayBe(a, peer)
}
