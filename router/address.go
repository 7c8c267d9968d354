package router

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientAddr is who sent a request. The peer is, unless it is a proxy that we
// trust: then it is the right-most hop of X-Forwarded-For that is none. What a
// client writes further left proves nothing. The zero address means that nobody
// knows, as over a pipe.
func clientAddr(req *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := plainAddr(peer.Addr())
	if len(trusted) == 0 || !contains(trusted, addr) {
		return addr
	}
	headers := req.Header.Values("X-Forwarded-For")
	for _, header := range slices.Backward(headers) {
		for _, hop := range slices.Backward(strings.Split(header, ",")) {
			a, err := parseHop(strings.TrimSpace(hop))
			if err != nil {
				return addr
			}
			if addr = a; !contains(trusted, addr) {
				return addr
			}
		}
	}
	return addr
}

// parseHop reads an address with or without a port.
func parseHop(s string) (netip.Addr, error) {
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return plainAddr(a), nil
	}
	p, err := netip.ParseAddrPort(s)
	return plainAddr(p.Addr()), err
}

func plainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func contains(prefixes []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}
