package ports

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
)

const at = "sys/class/infiniband/ibp3/ports/1/"

func numa(n int) *int { return &n }

func wholePort() inventory.Port {
	return inventory.Port{
		HCA: "ibp3", Port: 1, State: "ACTIVE", PhysState: "LinkUp", RateGbps: 400, LinkLayer: "InfiniBand", Active: true,
		NodeGUID: "e41d2d0300c10011", PortGUID: "e41d2d0300c10021", PCI: "0000:21:00.0", PCIRoot: "0000:15", NUMA: numa(1), LID: 0x11, SMLID: 1,
	}
}

// Each file stands for itself: without it, or with nonsense in it, the rest is as
// it was.
func TestEachFileStandsForItself(t *testing.T) {
	t.Parallel()
	hca := "sys/class/infiniband/ibp3/"
	down := func(p *inventory.Port) { p.Active, p.RateGbps = false, 0 }
	for _, c := range []struct {
		name   string
		change tree
		want   func(*inventory.Port)
		warn   string
	}{
		{"whole", tree{}, func(*inventory.Port) {}, ""},
		{"no rate", tree{at + "rate": ""}, func(p *inventory.Port) { p.RateGbps = 0 }, ""},
		{"garbled rate", tree{at + "rate": "fast\n"}, func(p *inventory.Port) { p.RateGbps = 0 }, ""},
		{"endless rate", tree{at + "rate": "+Inf Gb/sec\n"}, func(p *inventory.Port) { p.RateGbps = 0 }, ""},
		{"a broken rate", tree{at + "rate": "2.5 Gb/sec (1X SDR)\n"}, func(p *inventory.Port) { p.RateGbps = 3 }, ""},
		{
			"down, which prints a fiction",
			tree{at + "state": "1: DOWN\n", at + "phys_state": "2: Polling\n", at + "rate": "10 Gb/sec (4X SDR)\n"},
			func(p *inventory.Port) { down(p); p.State, p.PhysState = "DOWN", "Polling" }, "",
		},
		{"active without a link", tree{at + "phys_state": "6: LinkErrorRecovery\n"}, func(p *inventory.Port) { down(p); p.PhysState = "LinkErrorRecovery" }, ""},
		{"deferred", tree{at + "state": "5: ACTIVE_DEFER\n"}, func(p *inventory.Port) { down(p); p.State = "ACTIVE_DEFER" }, ""},
		{"no word about its link", tree{at + "phys_state": ""}, func(p *inventory.Port) { p.PhysState = "" }, ""},
		{"no state", tree{at + "state": unreadable}, func(p *inventory.Port) { down(p); p.State = "" }, "the state of port ibp3/1 cannot be read"},
		{
			"no subnet manager",
			tree{at + "state": "2: INIT\n", at + "lid": "0xffff\n", at + "sm_lid": "0x0\n"},
			func(p *inventory.Port) { down(p); p.State, p.LID, p.SMLID, p.SMError = "INIT", 0, 0, noManager }, "",
		},
		{"no addresses", tree{at + "lid": unreadable, at + "sm_lid": "many\n"}, func(p *inventory.Port) { p.LID, p.SMLID = 0, 0 }, ""},
		{"no GUIDs", tree{hca + "node_guid": "", at + "gids/0": "fe80::1\n"}, func(p *inventory.Port) { p.NodeGUID, p.PortGUID = "", "" }, ""},
		{"GUIDs that are not set", tree{hca + "node_guid": "0000:0000:0000:0000\n", at + "gids/0": unreadable}, func(p *inventory.Port) { p.NodeGUID, p.PortGUID = "", "" }, ""},
		{"a virtual adapter", tree{hca + "device": ""}, func(p *inventory.Port) { p.PCI, p.PCIRoot, p.NUMA = "", "", nil }, ""},
		{"an unknown node", tree{"sys/devices/pci0000:15/0000:15:01.0/0000:21:00.0/numa_node": "-1\n"}, func(p *inventory.Port) { p.NUMA = nil }, ""},
		{"a second root below the first", tree{
			hca + "device": "->../../../devices/pci0000:15/0000:15:05.5/pci10000:00/10000:01:00.0",
			"sys/devices/pci0000:15/0000:15:05.5/pci10000:00/10000:01:00.0/numa_node": "0\n",
		}, func(p *inventory.Port) { p.PCI, p.PCIRoot, p.NUMA = "10000:01:00.0", "10000:00", numa(0) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := infiniband("ibp3", 1).with(c.change).reader(t, nil)
			r.managers.every = -1 // no question belongs to this test
			list, warnings, err := r.Ports(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatalf("%v, %v", list, err)
			}
			want := wholePort()
			c.want(&want)
			got := list[0]
			if got.Active {
				got.SMError = "" // of the tool, which this machine has or has not
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if got := strings.Join(warnings, "\n"); !strings.Contains(got, c.warn) || (got == "") != (c.warn == "") {
				t.Errorf("want a warning with %q, got %q", c.warn, warnings)
			}
		})
	}
}

func TestNoneIsNotUnknown(t *testing.T) {
	t.Parallel()
	list, _, err := tree{"sys/class/dmi/id": "x"}.reader(t, nil).Ports(t.Context())
	if err != nil || list == nil || len(list) != 0 {
		t.Errorf("a machine without adapters: want an empty list, got %v, %v", list, err)
	}
	list, _, err = tree{}.reader(t, nil).Ports(t.Context())
	if list != nil || err == nil || !strings.Contains(err.Error(), "mount the host's sysfs") {
		t.Errorf("no sysfs: want an error, got %v, %v", list, err)
	}
}

func TestExcludedAdaptersAreNeverRead(t *testing.T) {
	t.Parallel()
	world := merge(infiniband("ibp3", 1), infiniband("mlx5_10", 2), infiniband("mlx5_11", 3))
	r := world.reader(t, func(c *Config) { c.Exclude = []string{"mlx5_1*"}; c.Tools.SMInfo = "/nowhere" })
	list, _, err := r.Ports(t.Context())
	if err != nil || len(list) != 1 || list[0].HCA != "ibp3" {
		t.Errorf("want ibp3 alone, got %v, %v", list, err)
	}
	if got := r.Counters(); len(got) != 1 || got[0].HCA != "ibp3" {
		t.Errorf("want the counters of ibp3 alone, got %v", got)
	}
	if _, err := New(Config{Exclude: []string{"[", "a"}, Every: -1}); err == nil || !strings.Contains(err.Error(), `"["`) || !strings.Contains(err.Error(), "negative") {
		t.Errorf("want both complaints, got %v", err)
	}
}

func TestNetworksOfRoCE(t *testing.T) {
	t.Parallel()
	port := "sys/class/infiniband/bnxt_re0/ports/1/"
	type want struct{ network, physical, iface, sm string }
	mine := addrs("lo 127.0.0.1/8", "eth9 10.1.2.3/16", "ens1 10.1.2.3/24", "ens1 fd00:1::5/64")
	for _, c := range []struct {
		name   string
		change tree
		addrs  func() ([]Addr, error)
		want   want
	}{
		{"an IPv4 address", nil, mine, want{"10.1.2.0/24", "roce:10.1.2.0/24", "ens1", ""}},
		{"an IPv6 address alone", tree{port + "gids/3": "fd00:0001:0000:0000:0000:0000:0000:0005\n"}, mine, want{"fd00:1::/64", "roce:fd00:1::/64", "ens1", ""}},
		{"IPv4 behind IPv6", tree{port + "gids/1": "fd00:0001:0000:0000:0000:0000:0000:0005\n"}, mine, want{"10.1.2.0/24", "roce:10.1.2.0/24", "ens1", ""}},
		{"it does not say the interface", tree{port + "gid_attrs/ndevs/3": unreadable}, addrs("ens1 10.1.2.3/24"), want{"10.1.2.0/24", "roce:10.1.2.0/24", "ens1", ""}},
		{"no address", tree{port + "gids/3": "", port + "gids/2": ""}, mine, want{"", "", "ens1", "no RoCE v2 address"}},
		{"the first version alone", tree{port + "gid_attrs/types/3": "IB/RoCE v1\n"}, mine, want{"", "", "ens1", "no RoCE v2 address"}},
		{"an address of another namespace", nil, addrs("eth0 10.9.9.9/24"), want{"", "", "ens1", "in the host's network"}},
		{"no addresses at all", nil, func() ([]Addr, error) { return nil, errors.New("no rights") }, want{"", "", "ens1", "no rights"}},
		{"a network for each link", nil, addrs("ens1 10.1.2.3/31"), want{"10.1.2.2/31", "", "ens1", "declare the fabric"}},
		{"a network of one", nil, addrs("ens1 10.1.2.3/32"), want{"10.1.2.3/32", "", "ens1", "declare the fabric"}},
		{"down", tree{port + "state": "1: DOWN\n", port + "gids/3": ""}, mine, want{"", "", "ens1", ""}},
		{"iWARP", tree{"sys/class/infiniband/bnxt_re0/node_type": "4: RNIC\n"}, mine, want{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := ethernet("bnxt_re0", "ens1").with(c.change).reader(t, func(cfg *Config) { cfg.Addrs = c.addrs })
			list, _, err := r.Ports(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatalf("%v, %v", list, err)
			}
			p := list[0]
			if (p.SMError == "") != (c.want.sm == "") || !strings.Contains(p.SMError, c.want.sm) {
				t.Errorf("want a reason with %q, got %q", c.want.sm, p.SMError)
			}
			if got := (want{p.Network, p.Physical, p.Interface, c.want.sm}); got != c.want {
				t.Errorf("want %v, got %v", c.want, got)
			}
			if c.want.iface != "" && p.MTU != 4096 {
				t.Errorf("want an MTU of 4096, got %d", p.MTU)
			}
			if p.PortGUID != "" || p.LID != 0 || p.SM != nil {
				t.Errorf("it has what only InfiniBand has: %+v", p)
			}
		})
	}
	for iface, want := range map[int]int{9000: 4096, 4192: 4096, 4191: 2048, 1500: 1024, 300: 0} {
		if got := pathMTU(iface); got != want {
			t.Errorf("an interface of %d: want %d, got %d", iface, want, got)
		}
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	n := func(v int64) *int64 { return &v }
	whole := inventory.PortCounters{HCA: "ibp3", Port: 1, TxBytes: n(4000), RxBytes: n(8000), Errors: map[string]int64{"link_downed": 2, "out_of_sequence": 3}}
	for _, c := range []struct {
		name   string
		change tree
		want   func(*inventory.PortCounters)
	}{
		{"words become bytes, and only errors are errors", nil, func(*inventory.PortCounters) {}},
		{"one that is not there", tree{at + "counters/port_xmit_data": ""}, func(c *inventory.PortCounters) { c.TxBytes = nil }},
		{
			"one that answers with an error",
			tree{at + "counters/port_rcv_data": unreadable, at + "counters/link_downed": unreadable},
			func(c *inventory.PortCounters) { c.RxBytes = nil; delete(c.Errors, "link_downed") },
		},
		{"one that says it does not count", tree{at + "counters/link_downed": "N/A (no PMA)\n"}, func(c *inventory.PortCounters) { delete(c.Errors, "link_downed") }},
		{"one that counts backwards", tree{at + "counters/link_downed": "-1\n"}, func(c *inventory.PortCounters) { delete(c.Errors, "link_downed") }},
		{"more than there can be", tree{at + "counters/port_xmit_data": "9223372036854775807\n"}, func(c *inventory.PortCounters) { c.TxBytes = nil }},
		{"no errors", tree{at + "counters/link_downed": "0\n", at + "hw_counters/out_of_sequence": "0\n"}, func(c *inventory.PortCounters) { c.Errors = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := whole
			want.Errors = map[string]int64{"link_downed": 2, "out_of_sequence": 3}
			c.want(&want)
			got := infiniband("ibp3", 1).with(c.change).reader(t, nil).Counters()
			if d := cmp.Diff([]inventory.PortCounters{want}, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A port that is down keeps its last counters: to look again and again makes some
// drivers log an error each time.
func TestCountersOfAPortThatRests(t *testing.T) {
	t.Parallel()
	world := infiniband("ibp3", 1).with(tree{at + "state": "1: DOWN\n"})
	r := world.reader(t, nil)
	first := r.Counters()
	put(t, strings.TrimSuffix(r.cfg.Sys, "sys"), at+"counters/symbol_error", "9\n")
	if d := cmp.Diff(first, r.Counters()); d != "" {
		t.Errorf("it was looked at again:\n%s", d)
	}
	put(t, strings.TrimSuffix(r.cfg.Sys, "sys"), at+"state", "4: ACTIVE\n")
	if got := r.Counters(); got[0].Errors["symbol_error"] != 9 {
		t.Errorf("it is up and was not looked at: %v", got)
	}
}
