package ports

import (
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tree is a made-up machine: files by path below its root. A text that begins
// with -> is a link.
type tree map[string]string

// unreadable stands for a file that answers a look with an error.
const unreadable = "\x00"

// with is the tree with some files changed. An empty one is removed.
func (t tree) with(changes tree) tree {
	out := maps.Clone(t)
	maps.Copy(out, changes)
	maps.DeleteFunc(out, func(_, v string) bool { return v == "" })
	return out
}

// put writes one file of it below a root.
func put(tb testing.TB, root, name, text string) {
	tb.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	var err error
	switch target, link := strings.CutPrefix(text, "->"); {
	case link:
		err = os.Symlink(target, path)
	case text == unreadable:
		err = os.Mkdir(path, 0o700)
	default:
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// reader is one that sees the tree.
func (t tree) reader(tb testing.TB, change func(*Config)) *Reader {
	tb.Helper()
	root := tb.TempDir()
	for name, text := range t {
		put(tb, root, name, text)
	}
	cfg := Config{
		Sys: filepath.Join(root, "sys"), Proc: filepath.Join(root, "proc"), Dev: filepath.Join(root, "dev"),
		Addrs: func() ([]Addr, error) { return nil, nil },
	}
	if change != nil {
		change(&cfg)
	}
	r, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// infiniband are the files of an adapter with one port that is up.
func infiniband(name string, n int) tree {
	hca, port := "sys/class/infiniband/"+name+"/", "sys/class/infiniband/"+name+"/ports/1/"
	slot := "0000:" + strconv.Itoa(20+n) + ":00.0"
	dev := "sys/devices/pci0000:15/0000:15:01.0/" + slot + "/"
	tail := strconv.Itoa(n)
	return tree{
		hca + "node_guid": "e41d:2d03:00c1:001" + tail + "\n", hca + "node_type": "1: CA\n", hca + "device": "->../../../devices/pci0000:15/0000:15:01.0/" + slot,
		dev + "numa_node": "1\n",
		port + "state":    "4: ACTIVE\n", port + "phys_state": "5: LinkUp\n", port + "rate": "400 Gb/sec (4X NDR)\n", port + "link_layer": "InfiniBand\n",
		port + "lid": "0x1" + tail + "\n", port + "sm_lid": "0x1\n", port + "gids/0": "fe80:0000:0000:0000:e41d:2d03:00c1:002" + tail + "\n",
		port + "counters/port_xmit_data": "1000\n", port + "counters/port_rcv_data": "2000\n",
		port + "counters/symbol_error": "0\n", port + "counters/link_downed": "2\n", port + "counters/port_xmit_wait": "77\n", port + "counters/VL15_dropped": "5\n",
		port + "hw_counters/out_of_sequence": "3\n", port + "hw_counters/rx_write_requests": "900\n", port + "hw_counters/lifespan": "12\n",
	}
}

// ethernet are the files of an adapter that speaks RoCE.
func ethernet(name, iface string) tree {
	hca, port := "sys/class/infiniband/"+name+"/", "sys/class/infiniband/"+name+"/ports/1/"
	return tree{
		hca + "node_guid": "e41d:2d03:00f1:0001\n", hca + "node_type": "1: CA\n", hca + "device": "->../../../devices/pci0000:7f/0000:80:00.1",
		"sys/devices/pci0000:7f/0000:80:00.1/numa_node": "-1\n", "sys/devices/pci0000:7f/0000:80:00.1/net/" + iface + "/mtu": "9000\n",
		"sys/class/net/" + iface + "/mtu": "9000\n",
		port + "state":                    "4: ACTIVE\n", port + "phys_state": "5: LinkUp\n", port + "rate": "100 Gb/sec (4X EDR)\n", port + "link_layer": "Ethernet\n",
		port + "lid": "0x0\n", port + "sm_lid": "0x0\n",
		port + "gids/0": "fe80:0000:0000:0000:e61d:2dff:fef1:0001\n", port + "gid_attrs/types/0": "IB/RoCE v1\n", port + "gid_attrs/ndevs/0": iface + "\n",
		port + "gids/1": "fe80:0000:0000:0000:e61d:2dff:fef1:0001\n", port + "gid_attrs/types/1": "RoCE v2\n", port + "gid_attrs/ndevs/1": iface + "\n",
		port + "gids/2": "0000:0000:0000:0000:0000:ffff:0a01:0203\n", port + "gid_attrs/types/2": "IB/RoCE v1\n", port + "gid_attrs/ndevs/2": iface + "\n",
		port + "gids/3": "0000:0000:0000:0000:0000:ffff:0a01:0203\n", port + "gid_attrs/types/3": "RoCE v2\n", port + "gid_attrs/ndevs/3": iface + "\n",
		port + "gids/4": "0000:0000:0000:0000:0000:0000:0000:0000\n", port + "gid_attrs/types/4": unreadable, port + "gid_attrs/ndevs/4": unreadable,
	}
}

func merge(trees ...tree) tree {
	out := tree{}
	for _, t := range trees {
		maps.Copy(out, t)
	}
	return out
}

// addrs are the addresses of a machine, "interface address/bits" each.
func addrs(list ...string) func() ([]Addr, error) {
	return func() ([]Addr, error) {
		var out []Addr
		for _, s := range list {
			iface, prefix, _ := strings.Cut(s, " ")
			out = append(out, Addr{Interface: iface, Prefix: netip.MustParsePrefix(prefix)})
		}
		return out, nil
	}
}
