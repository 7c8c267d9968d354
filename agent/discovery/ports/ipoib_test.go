package ports

import (
	"errors"
	"testing"
)

// netDevice are the files of a network device of the first adapter.
func netDevice(name, typ string, more tree) tree {
	at := "sys/class/net/" + name + "/"
	t := tree{at + "type": typ + "\n", at + "device": "->../../../devices/pci0000:15/0000:15:01.0/0000:21:00.0"}
	for file, text := range more {
		t[at+file] = text
	}
	return t
}

// A port of InfiniBand speaks IP by the network device that stands on the same
// adapter and has the port's number, whatever it is called.
func TestIPOverInfiniBand(t *testing.T) {
	t.Parallel()
	second := tree{}
	for name, text := range infiniband("ibp3", 1) { // another port of the same adapter
		const one = "ports/1/"
		if i := len("sys/class/infiniband/ibp3/"); len(name) > i+len(one) && name[i:i+len(one)] == one {
			second[name[:i]+"ports/2/"+name[i+len(one):]] = text
		}
	}
	both := merge(infiniband("ibp3", 1), second)
	first := tree{"dev_port": "0\n", "dev_id": "0x0\n", "pkey": "0xffff\n"}
	for _, c := range []struct {
		name string
		tree tree
		// addresses: of these devices.
		addresses []string
		want      [2]string
	}{
		{"none", both, nil, [2]string{}},
		{"one of each", merge(both, netDevice("ibx", "32", first), netDevice("ib1", "32", tree{"dev_port": "1\n"})), nil, [2]string{"ibx", "ib1"}},
		{"a kernel that has no dev_port", merge(both, netDevice("ib0", "32", tree{"dev_id": "0x0\n"}), netDevice("ib1", "32", tree{"dev_id": "0x1\n"})), nil, [2]string{"ib0", "ib1"}},
		{"a driver that leaves it at 0", merge(both, netDevice("ib1", "32", tree{"dev_port": "0\n", "dev_id": "0x1\n"})), nil, [2]string{"", "ib1"}},
		{"neither is said", merge(both, netDevice("ib0", "32", nil)), nil, [2]string{"ib0", ""}},
		{"nonsense", merge(both, netDevice("ib0", "32", tree{"dev_port": "-1\n", "dev_id": unreadable})), nil, [2]string{"ib0", ""}},
		{"Ethernet on the same adapter", merge(both, netDevice("eth0", "1", first)), nil, [2]string{}},
		{"another adapter's", merge(both, netDevice("ib0", "32", first), tree{"sys/class/net/ib0/device": "->../../../devices/pci0000:15/0000:15:01.0/0000:22:00.0", "sys/devices/pci0000:15/0000:15:01.0/0000:22:00.0/numa_node": "0\n"}), nil, [2]string{}},
		{"no adapter", merge(both, netDevice("ib0", "32", first), tree{"sys/class/net/ib0/device": ""}).with(nil), nil, [2]string{}},
		{
			"a partition of its own is the last choice",
			merge(both, netDevice("ib0.8001", "32", tree{"dev_port": "0\n", "pkey": "0x8001\n"}), netDevice("ib9", "32", first)), nil,
			[2]string{"ib9", ""},
		},
		{
			"unless it has an address and the others have none",
			merge(both, netDevice("ib0.8001", "32", tree{"dev_port": "0\n", "pkey": "0x8001\n"}), netDevice("ib9", "32", first)),
			[]string{"ib0.8001 10.4.0.1/24", "ib9 fe80::1/64"},
			[2]string{"ib0.8001", ""},
		},
		{"by name among equals", merge(both, netDevice("ib2", "32", first), netDevice("ib0", "32", first)), nil, [2]string{"ib0", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.tree.reader(t, func(cfg *Config) { cfg.Addrs = addrs(c.addresses...) })
			list, _, err := r.Ports(t.Context())
			if err != nil || len(list) != 2 {
				t.Fatalf("%+v, %v", list, err)
			}
			if got := [2]string{list[0].Interface, list[1].Interface}; got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
			if list[0].Network != "" || list[0].MTU != 0 {
				t.Errorf("it has what only RoCE has: %+v", list[0])
			}
		})
	}
	r := merge(infiniband("ibp3", 1), netDevice("ib0", "32", first)).reader(t, func(cfg *Config) {
		cfg.Addrs = func() ([]Addr, error) { return nil, errors.New("no rights") }
	})
	if list, _, err := r.Ports(t.Context()); err != nil || list[0].Interface != "ib0" {
		t.Errorf("without addresses: %+v, %v", list, err)
	}
}
