package hub

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
)

// fleet is a Registry of nodes that are what they are.
type fleet struct{ nodes []*inventory.Node }

func (f fleet) Apply(inventory.NodeID, inventory.Report, time.Time) {}
func (f fleet) Snapshot() *inventory.Snapshot                       { return inventory.NewSnapshot(1, f.nodes) }

// noEnrolment is an Enrolment that is never asked.
type noEnrolment struct{ Enrolment }

// A node that was taken over can send routers nowhere but to itself: not to
// where clouds keep credentials, to another node, or to the control plane.
func TestAddressesOfOthers(t *testing.T) {
	t.Parallel()
	ca, err := pki.NewCA("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other := &inventory.Node{ID: "n2", Facts: inventory.Facts{MgmtAddr: "10.0.0.2"}}
	h, err := New(Config{Registry: fleet{[]*inventory.Node{other}}, Enrolment: noEnrolment{}, CA: ca, EngineKey: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		peer, claims string
		holds        bool
	}{
		{"10.0.0.1", "10.0.0.1", true},
		{"10.0.0.1", "::ffff:10.0.0.1", true},
		{"10.0.0.1", "192.168.7.1", true}, // a machine on two networks
		{"10.0.0.1", "127.0.0.1", false},
		{"10.0.0.1", "::1", false},
		{"10.0.0.1", "0.0.0.0", false},
		{"10.0.0.1", "255.255.255.255", false},
		{"10.0.0.1", "169.254.169.254", false},
		{"10.0.0.1", "::ffff:169.254.169.254", false},
		{"10.0.0.1", "fe80::1", false},
		{"10.0.0.1", "fd00:ec2::254", false},
		{"10.0.0.1", "100.100.100.200", false},
		{"10.0.0.1", "168.63.129.16", false},
		{"10.0.0.1", "fd00::1%eth0", false},
		{"10.0.0.1", "10.0.0.2", false},
		{"10.0.0.1", "::ffff:10.0.0.2", false},
		{"10.0.0.2", "10.0.0.2", true}, // who calls from there is there
		{"10.0.0.1", ownAddress(t), false},
		{"127.0.0.1", ownAddress(t), true},
		{"127.0.0.1", "127.0.0.1", true},
	} {
		f := h.facts(inventory.Facts{MgmtAddr: c.claims}, "n1", netip.MustParseAddr(c.peer))
		if holds := f.MgmtAddr != ""; holds != c.holds {
			t.Errorf("from %s, %s: taken %t, want %t", c.peer, c.claims, holds, c.holds)
		}
		at := netip.AddrPortFrom(netip.MustParseAddr(c.claims), 80).String()
		if reachable(at, f.MgmtAddr, netip.MustParseAddr(c.peer)) != c.holds {
			t.Errorf("from %s: routers go to %s: %t", c.peer, at, !c.holds)
		}
	}
}

// ownAddress is an address of this machine that others may reach.
func ownAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLoopback() && !p.Addr().IsLinkLocalUnicast() {
			return p.Addr().String()
		}
	}
	t.Skip("this machine has loopback addresses only")
	return ""
}
