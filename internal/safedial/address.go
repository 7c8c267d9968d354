package safedial

import (
	"fmt"
	"net"
	"net/netip"
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

var (
	// never is what no allowance opens: where clouds hand out credentials, and
	// what is no single machine's address.
	never = prefixes(
		"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", // AWS, Azure, Google and others; ECS; EKS
		"fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128", // AWS, EKS, Google
		"100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", // Alibaba, Azure, Oracle
		"0.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/128", "ff00::/8",
	)

	// special4 is what is refused of IPv4 unless allowed.
	special4 = prefixes(
		"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
		"192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"240.0.0.0/4",
	)

	// For IPv6 only what lies in global is taken, and of that not special6. So
	// ::1, ::a.b.c.d, 100::/64, 5f00::/16, fc00::/7, fe80::/10, fec0::/10 and all
	// that is not given out yet are refused without being listed.
	global   = netip.MustParsePrefix("2000::/3")
	special6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")

	// nat64 is a translator's network: what it stands for is decided by the IPv4
	// address within alone, since hosts without IPv4 reach everything through it.
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
	teredo     = netip.MustParsePrefix("2001::/32")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// judge says why an address may not be connected to, or nil if it may. Every
// IPv4 address that lies within an IPv6 one must be allowed as well, for
// somewhere on the way it is taken out.
func (p *Policy) judge(ap netip.AddrPort) error {
	addr := ap.Addr()
	if !addr.IsValid() || addr.Zone() != "" {
		return fmt.Errorf("%s is no plain address", ap)
	}
	ap = netip.AddrPortFrom(addr.Unmap(), ap.Port())
	if !nat64.Contains(ap.Addr()) {
		if err := p.judgeOne(ap); err != nil {
			return err
		}
	}
	for _, inner := range embedded(ap.Addr()) {
		if err := p.judgeOne(netip.AddrPortFrom(inner, ap.Port())); err != nil {
			return fmt.Errorf("%s holds an address within: %w", ap, err)
		}
	}
	if p.cfg.Deny != nil && p.cfg.Deny(ap) {
		return fmt.Errorf("%s is denied", ap)
	}
	return nil
}

func (p *Policy) judgeOne(ap netip.AddrPort) error {
	if within(never, ap.Addr()) {
		return fmt.Errorf("%s is never allowed", ap)
	}
	if p.own(ap) {
		return fmt.Errorf("%s is a listener of our own", ap)
	}
	for _, a := range p.cfg.Allow {
		if a.covers(ap) {
			return nil
		}
	}
	if !public(ap.Addr()) {
		return fmt.Errorf("%s is not public and not allowed", ap)
	}
	for _, port := range p.cfg.Ports {
		if port == ap.Port() {
			return nil
		}
	}
	return fmt.Errorf("port of %s is not allowed", ap)
}

func public(a netip.Addr) bool {
	if a.Is4() {
		return !within(special4, a)
	}
	return global.Contains(a) && !within(special6, a)
}

// own says whether ap is one of our listeners. One on the unspecified address is
// reached by every address of this machine, which may change as we run.
func (p *Policy) own(ap netip.AddrPort) bool {
	for _, o := range p.cfg.Own {
		if o.Port() != 0 && o.Port() != ap.Port() {
			continue
		}
		addr := o.Addr().Unmap().WithZone("")
		if addr == ap.Addr() || addr.IsUnspecified() && (ap.Addr().IsLoopback() || local(ap.Addr())) {
			return true
		}
	}
	return false
}

// local says whether an address is this machine's. If the machine does not say,
// every address counts as its own: refusing is the safe mistake.
func local(a netip.Addr) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, ifa := range addrs {
		if n, ok := ifa.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == a {
				return true
			}
		}
	}
	return false
}

// embedded gives the IPv4 addresses that an IPv6 address may be turned into.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	at := func(w, x, y, z int) netip.Addr { return netip.AddrFrom4([4]byte{b[w], b[x], b[y], b[z]}) }
	switch {
	case a == netip.IPv6Loopback():
		return nil // not 0.0.0.1 in disguise
	case nat64.Contains(a), compatible.Contains(a), translated.Contains(a):
		return []netip.Addr{at(12, 13, 14, 15)}
	case nat64Local.Contains(a):
		// Where it stands depends on a length that only the translator knows.
		return []netip.Addr{at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), at(12, 13, 14, 15)}
	case sixToFour.Contains(a):
		return []netip.Addr{at(2, 3, 4, 5)}
	case teredo.Contains(a):
		client := netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
		return []netip.Addr{at(4, 5, 6, 7), client}
	case (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		return []netip.Addr{at(12, 13, 14, 15)}
	}
	return nil
}

func within(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
