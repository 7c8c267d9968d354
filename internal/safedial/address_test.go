package safedial

import (
	"errors"
	"net/netip"
	"testing"
)

func policy(t *testing.T, cfg Config) *Policy {
	t.Helper()
	p, err := NewPolicy(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func allow(t *testing.T, list ...string) []Allow {
	t.Helper()
	out := make([]Allow, len(list))
	for i, s := range list {
		a, err := ParseAllow(s)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = a
	}
	return out
}

// Both ends of each network that is refused, and IPv4 in every dress of IPv6.
var refusedAddrs = []string{
	"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "100.100.100.200",
	"127.0.0.1", "127.255.255.254", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.0", "172.31.255.255",
	"192.0.0.1", "192.0.0.192", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.0.0", "192.168.255.255",
	"192.175.48.1", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.255", "224.0.0.1", "239.255.255.255",
	"240.0.0.1", "255.255.255.255", "168.63.129.16",
	"::", "::1", "::2", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1",
	"64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b::100.64.0.1", "64:ff9b:1::1", "64:ff9b:1:a9fe:a9:fe00::",
	"100::1", "2001::1", "2001:0:7f00:1::", "2001:0:808:808:0:0:5601:5601", "2001:1ff::1", "2001:db8::1",
	"2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:808:808::1", "2620:4f:8000::1", "3fff::1", "5f00::1",
	"fc00::1", "fd00:ec2::254", "fdff::1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "ff02::1", "ff0e::1",
	"2a00:1450::5efe:127.0.0.1", "2a00:1450::200:5efe:10.0.0.1", "2a00:1450::1%lo", "4000::1", "1::1", "ffff::1",
}

var publicAddrs = []string{
	"8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
	"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
	"198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
	"2001:200::1", "2001:4860:4860::8888", "2600::1", "2a00:1450:4001:80b::200e", "2a00:1450::5efe:8.8.8.8",
}

func TestJudge(t *testing.T) {
	t.Parallel()
	if len(refusedAddrs) < 60 {
		t.Fatalf("only %d addresses", len(refusedAddrs))
	}
	p := policy(t, Config{})
	for _, s := range refusedAddrs {
		if p.judge(netip.AddrPortFrom(netip.MustParseAddr(s), 443)) == nil {
			t.Errorf("%s is let through", s)
		}
	}
	for _, s := range publicAddrs {
		addr := netip.MustParseAddr(s)
		if err := p.judge(netip.AddrPortFrom(addr, 443)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
		if p.judge(netip.AddrPortFrom(addr, 22)) == nil {
			t.Errorf("%s is let through at port 22", s)
		}
	}
}

// Whatever is allowed, the check on the socket stands by itself: the dialer
// refuses even when nothing was looked at before.
func TestDialerChecksTheSocket(t *testing.T) {
	t.Parallel()
	p := policy(t, Config{})
	for _, address := range []string{"127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "169.254.169.254:80", "localhost:80", ":80"} {
		conn, err := p.dialer.DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		if err := p.failed(t.Context(), address, err); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: want refused, got %v", address, err)
		}
	}
	if err := p.control(t.Context(), "udp4", "8.8.8.8:443", nil); err == nil {
		t.Error("UDP is let through")
	}
}

func TestAllowOpensOneNetworkAndPort(t *testing.T) {
	t.Parallel()
	p := policy(t, Config{
		Allow: allow(t, "10.1.0.0/16:8000", "fd00::/8:8000", "127.0.0.1:9000", "169.254.0.0/16:80", "100.64.0.0/10:80",
			"64:ff9b:1::/48:8000", "2002::/16:443", "8.8.8.8:8443"),
		Own: []netip.AddrPort{netip.MustParseAddrPort("10.1.0.9:8000"), netip.MustParseAddrPort("10.1.0.8:0")},
		Deny: func(ap netip.AddrPort) bool {
			return ap.Addr() == netip.MustParseAddr("10.1.0.7")
		},
	})
	for s, want := range map[string]bool{
		"10.1.2.3:8000":               true,
		"10.1.2.3:443":                false,
		"10.2.0.1:8000":               false,
		"[::ffff:10.1.2.3]:8000":      true,
		"[64:ff9b::10.1.2.3]:8000":    true,
		"[fd00::1]:8000":              true,
		"[fd00::1]:80":                false,
		"[fd00:ec2::254]:8000":        false, // metadata stays shut
		"127.0.0.1:9000":              true,
		"127.0.0.2:9000":              false,
		"169.254.1.1:80":              true,
		"169.254.169.254:80":          false,
		"100.100.100.200:80":          false,
		"8.8.8.8:8443":                true,
		"8.8.4.4:8443":                false, // a port opened for one is not for all
		"10.1.0.9:8000":               false, // our own
		"10.1.0.8:8000":               false, // our own at any port
		"10.1.0.7:8000":               false, // denied
		"[64:ff9b:1:0a01:2:300::]:80": false,
		"[2002:7f00:1::1]:443":        false, // the network is allowed, the address within is not
		"[2002:808:808::1]:443":       true,
	} {
		if err := p.judge(netip.MustParseAddrPort(s)); (err == nil) != want {
			t.Errorf("%s: want allowed %t, got %v", s, want, err)
		}
	}
}

// A listener on every address is shut at every address of this machine.
func TestOwnOnAllAddresses(t *testing.T) {
	t.Parallel()
	p := policy(t, Config{
		Allow: allow(t, "127.0.0.0/8:7443", "127.0.0.0/8:9000", "[::1]:7443"),
		Own:   []netip.AddrPort{netip.MustParseAddrPort("[::]:7443")},
	})
	for s, want := range map[string]bool{
		"127.0.0.1:7443": false, "127.9.9.9:7443": false, "[::1]:7443": false, "127.0.0.1:9000": true,
	} {
		if err := p.judge(netip.MustParseAddrPort(s)); (err == nil) != want {
			t.Errorf("%s: want allowed %t, got %v", s, want, err)
		}
	}
}

func TestParseAllow(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"10.0.0.0/8:8000", "fc00::/7:1", "10.1.2.3/32:65535", "fd00::1/128:443"} {
		a, err := ParseAllow(s)
		if err != nil || a.String() != s {
			t.Errorf("%q: got %q, %v", s, a, err)
		}
	}
	if a := allow(t, "[fd00::1]:8000")[0]; a.String() != "fd00::1/128:8000" {
		t.Errorf("got %s", a)
	}
	for _, s := range []string{
		"", "10.0.0.0/8", "10.0.0.1", "10.0.0.0/8:0", "10.0.0.0/8:65536", "10.0.0.0/8:http", "0.0.0.0/0:80", "::/0:80",
		"10.0.0.1/8:80", "2000::/3:80", "0.0.0.0/1:80", "::ffff:10.0.0.0/104:80", "fd00::/8", "mirror:80", "10.0.0.0/33:80", "[::ffff:10.0.0.1]:80",
	} {
		if a, err := ParseAllow(s); err == nil {
			t.Errorf("%q is read as %s", s, a)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"allow without port": {Allow: []Allow{{Prefix: netip.MustParsePrefix("10.0.0.0/8")}}},
		"allow everything":   {Allow: []Allow{{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Port: 80}}},
		"allow nothing":      {Allow: []Allow{{Port: 80}}},
		"no own address":     {Own: []netip.AddrPort{{}}},
		"port zero":          {Ports: []uint16{0}},
		"negative timeout":   {DialTimeout: -1},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: no complaint", name)
		}
	}
}
