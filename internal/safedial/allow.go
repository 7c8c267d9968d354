package safedial

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Allow opens one port of one network.
type Allow struct {
	Prefix netip.Prefix
	// Port is never zero: a network is not opened whole.
	Port uint16
}

// The widest networks that may be opened at once: 10.0.0.0/8 and fc00::/7 are.
const (
	widestV4 = 8
	widestV6 = 7
)

// ParseAllow reads "10.0.0.0/8:8000", "10.1.2.3:8000", "fd00::/8:8000" or "[fd00::1]:8000".
func ParseAllow(s string) (Allow, error) {
	if !strings.Contains(s, "/") {
		ap, err := netip.ParseAddrPort(s)
		if err != nil {
			return Allow{}, fmt.Errorf("safedial: %q is no address and port, such as 10.1.2.3:8000", s)
		}
		a := Allow{netip.PrefixFrom(ap.Addr(), ap.Addr().BitLen()), ap.Port()}
		return a, a.check()
	}
	i := strings.LastIndexByte(s, ':')
	if i < strings.IndexByte(s, '/') {
		return Allow{}, fmt.Errorf("safedial: %q names no port; write it behind the network, such as 10.0.0.0/8:8000", s)
	}
	prefix, err := netip.ParsePrefix(s[:i])
	if err != nil {
		return Allow{}, fmt.Errorf("safedial: %q is no network and port, such as 10.0.0.0/8:8000", s)
	}
	port, err := strconv.ParseUint(s[i+1:], 10, 16)
	if err != nil {
		return Allow{}, fmt.Errorf("safedial: the port of %q is not from 1 to 65535", s)
	}
	a := Allow{prefix, uint16(port)}
	return a, a.check()
}

// String gives the form that ParseAllow reads.
func (a Allow) String() string { return fmt.Sprintf("%s:%d", a.Prefix, a.Port) }

func (a Allow) check() error {
	addr := a.Prefix.Addr()
	switch {
	case !a.Prefix.IsValid():
		return fmt.Errorf("safedial: an allowed network is missing; write it as 10.0.0.0/8:8000")
	case a.Port == 0:
		return fmt.Errorf("safedial: allowed network %s names no port; each port is opened by itself", a.Prefix)
	case addr.Is4In6():
		return fmt.Errorf("safedial: allowed network %s is IPv4 in the dress of IPv6; write it as IPv4", a.Prefix)
	case a.Prefix.Masked() != a.Prefix:
		return fmt.Errorf("safedial: allowed network %s has bits behind its length; did you mean %s?", a.Prefix, a.Prefix.Masked())
	case addr.Is4() && a.Prefix.Bits() < widestV4, addr.Is6() && a.Prefix.Bits() < widestV6:
		return fmt.Errorf("safedial: allowed network %s is too wide; name the networks that are meant", a.Prefix)
	}
	return nil
}

func (a Allow) covers(ap netip.AddrPort) bool {
	return a.Port == ap.Port() && a.Prefix.Contains(ap.Addr())
}
