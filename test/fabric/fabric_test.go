package fabric

import (
	"slices"
	"strings"
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/topology"
)

// The machines of the networks. The simulator gives a port the GUID of its
// adapter and its number.
const (
	nodeA, portA = "e41d2d0300c10010", "e41d2d0300c10011"
	nodeB, portB = "e41d2d0300c20010", "e41d2d0300c20011"
	nodeC        = "e41d2d0300c30010"
	leaf1, leaf2 = "e8ebd30300b10100", "e8ebd30300b10200"
)

// pair is two leaves: A and C at the first, B at the second.
const pair = `
switchguid=0xe8ebd30300b10100(e8ebd30300b10100)
Switch	8 "S-e8ebd30300b10100"		# "leaf 1" enhanced port 0 lid 0 lmc 0
[1]	"H-e41d2d0300c10010"[1](e41d2d0300c10011) 		# "a" lid 0 4xHDR
[3]	"H-e41d2d0300c30010"[1](e41d2d0300c30011) 		# "c" lid 0 4xHDR
[8]	"S-e8ebd30300b10200"[8]		# "leaf 2" lid 0 4xHDR

switchguid=0xe8ebd30300b10200(e8ebd30300b10200)
Switch	8 "S-e8ebd30300b10200"		# "leaf 2" enhanced port 0 lid 0 lmc 0
[2]	"H-e41d2d0300c20010"[1](e41d2d0300c20011) 		# "b" lid 0 4xHDR
[8]	"S-e8ebd30300b10100"[8]		# "leaf 1" lid 0 4xHDR

caguid=0xe41d2d0300c10010
Ca	1 "H-e41d2d0300c10010"		# "a"
[1](e41d2d0300c10011) 	"S-e8ebd30300b10100"[1]		# lid 0 lmc 0 "leaf 1" lid 0 4xHDR

caguid=0xe41d2d0300c20010
Ca	1 "H-e41d2d0300c20010"		# "b"
[1](e41d2d0300c20011) 	"S-e8ebd30300b10200"[2]		# lid 0 lmc 0 "leaf 2" lid 0 4xHDR

caguid=0xe41d2d0300c30010
Ca	1 "H-e41d2d0300c30010"		# "c"
[1](e41d2d0300c30011) 	"S-e8ebd30300b10100"[3]		# lid 0 lmc 0 "leaf 1" lid 0 4xHDR
`

// rails is two networks that are not joined: A and C on one, B on the other.
var rails = strings.NewReplacer(
	"[8]\t\"S-e8ebd30300b10200\"[8]\t\t# \"leaf 2\" lid 0 4xHDR\n", "", "[8]\t\"S-e8ebd30300b10100\"[8]\t\t# \"leaf 1\" lid 0 4xHDR\n", "",
).Replace(pair)

// history is what a port says of its fabric, as it changes.
type history []string

// add takes a look and gives the port.
func (h *history) add(t *testing.T, list []inventory.Port) inventory.Port {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("want one port, got %+v", list)
	}
	p := list[0]
	if n := len(*h); p.Physical != "" && (n == 0 || (*h)[n-1] != p.Physical) {
		*h = append(*h, p.Physical)
	}
	return p
}

// A manager that goes is succeeded by the one that stands by: that is one change.
// While nobody manages, and the question fails, there is none.
func TestFailover(t *testing.T) {
	t.Parallel()
	r := newRig(t, pair)
	stopA, stopB := r.managers(nodeA, nodeB, nodeC)
	c := r.reader(nodeC)
	var seen history
	var p inventory.Port
	until(t, "a manager, and one that stands by", func() bool {
		p = seen.add(t, look(t, c))
		return p.SM != nil && p.SM.GUID == portA && slices.ContainsFunc(p.SMs, func(s inventory.SubnetManager) bool { return s.GUID == portB && s.State == "standby" })
	})
	if p.SM.State != "master" || p.SM.Priority != 12 || p.SM.LID == 0 || p.SMs[0] != *p.SM || p.MTU != 2048 || p.SMError != "" {
		t.Errorf("the manager is %+v of %+v, the MTU %d, %q", p.SM, p.SMs, p.MTU, p.SMError)
	}
	seen = history{p.Physical} // which of them was first is of no matter

	stopA()
	until(t, "the one that stood by", func() bool {
		p = seen.add(t, look(t, c))
		return p.Physical == "sm:"+portB && p.SMError == ""
	})
	if len(seen) != 2 {
		t.Errorf("want one change, got %q", seen)
	}

	stopB()
	until(t, "a question that fails", func() bool { return seen.add(t, look(t, c)).SMError != "" })
	if p = seen.add(t, look(t, c)); len(seen) != 2 || p.Physical != "sm:"+portB || !strings.Contains(p.SMError, "sminfo") {
		t.Errorf("nobody answers, and that is a change: %q, %q", seen, p.SMError)
	}

	r.manager(nodeA, 12, masters)
	until(t, "the first one again", func() bool {
		p = seen.add(t, look(t, c))
		return p.Physical == "sm:"+portA && p.SMError == ""
	})
	if len(seen) != 3 {
		t.Errorf("want two changes, got %q", seen)
	}
}

// The map is read as the tool prints it, and a link that is lost is lost in it. The
// half that is cut off gets a manager of its own: the fabric is two.
func TestLinkLoss(t *testing.T) {
	t.Parallel()
	r := newRig(t, pair)
	r.managers(nodeA, nodeB, nodeC)
	b, c := r.reader(nodeB), r.reader(nodeC)
	var seenB, seenC history
	one := func() bool {
		x, y := seenB.add(t, look(t, b)), seenC.add(t, look(t, c))
		return x.Physical == "sm:"+portA && y.Physical == x.Physical && x.SMError == "" && y.SMError == ""
	}
	until(t, "one fabric", one)
	var m topology.Map
	var err error
	until(t, "the whole map", func() bool {
		m, err = scan(t, c)
		return err == nil && len(m.Hosts) == 3
	})
	if len(m.Switches) != 2 || len(m.Links) != 4 || m.Gap() != "" || m.From != nodeC || m.Switches[0].Name != "leaf 1" {
		t.Errorf("%q %+v", m.Gap(), m)
	}
	for _, l := range m.Links {
		if l.OneSided || l.Gbps != 200 {
			t.Errorf("%+v", l)
		}
	}

	r.tell(`Unlink "S-%s"[8]`, leaf1)
	until(t, "two fabrics", func() bool {
		return seenB.add(t, look(t, b)).Physical == "sm:"+portB && seenC.add(t, look(t, c)).Physical == "sm:"+portA
	})
	m, err = scan(t, c)
	if err != nil || len(m.Switches) != 1 || len(m.Hosts) != 2 || len(m.Links) != 2 {
		t.Errorf("what is behind the link is still there: %+v, %v", m, err)
	}
	m, err = scan(t, b)
	if err != nil || len(m.Switches) != 1 || m.Switches[0].GUID != leaf2 || len(m.Hosts) != 1 {
		t.Errorf("the other half: %+v, %v", m, err)
	}

	r.tell(`Relink "S-%s"[8]`, leaf1)
	until(t, "one fabric again", one)
}

// Two networks are two fabrics, though their managers have the same address.
func TestTwoNetworks(t *testing.T) {
	t.Parallel()
	r := newRig(t, rails)
	r.manager(nodeA, 5, masters)
	r.manager(nodeB, 5, masters)
	b, c := r.reader(nodeB), r.reader(nodeC)
	var first, second inventory.Port
	until(t, "both managers", func() bool {
		first, second = look(t, c)[0], look(t, b)[0]
		return first.SM != nil && second.SM != nil
	})
	if first.SM.LID != second.SM.LID {
		t.Errorf("the test shows less than it should: the managers are at LID %d and %d", first.SM.LID, second.SM.LID)
	}
	n := inventory.Node{Facts: inventory.Facts{Ports: []inventory.Port{first, second}}}
	want := []inventory.Fabric{{Key: "sm:" + portA}, {Key: "sm:" + portB}}
	if got := n.Fabrics(); !slices.Equal(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
	m, err := scan(t, b)
	if err != nil || len(m.Switches) != 1 || len(m.Hosts) != 1 {
		t.Errorf("the map of one network knows the other: %+v, %v", m, err)
	}
}
