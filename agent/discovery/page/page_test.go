package page

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/agent/discovery"
	"llmgw.io/llmgw/agent/discovery/gpu"
	"llmgw.io/llmgw/agent/discovery/ports"
	"llmgw.io/llmgw/inventory"
)

var update = flag.Bool("update", false, "write the golden pages anew")

func ptr[T any](v T) *T { return &v }

// driver is one of eight cards that all reach each other.
type driver struct{}

func (driver) Snapshot(context.Context) (gpu.Snapshot, error) {
	s := gpu.Snapshot{Driver: "580.95.05", CUDA: "13.0"}
	for i := range 8 {
		c := gpu.Card{
			Index: i, UUID: fmt.Sprintf("GPU-%d", i), Name: "NVIDIA H200", PCI: fmt.Sprintf("0000:%02x:00.0", 0x18+i), MemoryMB: 143771,
			Capability: "9.0", LinksUp: ptr(18), Fabric: &gpu.Fabric{State: 3, Cluster: "00000000-0000-0000-0000-000000000000"},
			Sensors: gpu.Sensors{TempC: ptr(31.0 + float64(i)), PowerW: ptr(76.5), UsedMB: ptr(int64(4))},
		}
		for j := range 8 {
			if j != i {
				c.Linked = append(c.Linked, j)
			}
		}
		if i == 5 {
			c.State.RemapFailed = ptr(true)
		}
		s.Cards = append(s.Cards, c)
	}
	return s, nil
}

// write puts files and links below a root.
func write(t *testing.T, root string, files, links map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range links {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
}

// big is a machine of eight cards and nine ports: of InfiniBand beside each card,
// and one of Ethernet that is down.
func big(t *testing.T) string {
	t.Helper()
	files := map[string]string{
		"etc/os-release":                     "PRETTY_NAME=\"Some System 12 (calm)\"\n",
		"proc/sys/kernel/hostname":           "node-1\n",
		"proc/sys/kernel/osrelease":          "6.8.0-some\n",
		"proc/sys/kernel/random/boot_id":     "11111111-2222-3333-4444-555555555555\n",
		"proc/self/status":                   "Cpus_allowed_list:\t0-191\n",
		"proc/cpuinfo":                       "processor\t: 0\nflags\t\t: fpu avx2 fma avx512f avx512_vnni amx_int8\nFeatures\t: fp\n",
		"proc/meminfo":                       "MemTotal:       2113124352 kB\nMemAvailable:   2080374784 kB\n",
		"proc/loadavg":                       "1.50 2.25 3.00 2/345 6789\n",
		"sys/class/hwmon/hwmon0/name":        "coretemp\n",
		"sys/class/hwmon/hwmon0/temp1_input": "51000\n",
		"sys/class/hwmon/hwmon1/name":        "board\n",
		"sys/class/hwmon/hwmon1/temp1_label": "Inlet Temp\n",
		"sys/class/hwmon/hwmon1/temp1_input": "24000\n",
	}
	links := map[string]string{}
	for i := range 9 {
		bus := fmt.Sprintf("devices/pci0000:%02x/0000:%02x:01.0/", 0x10+i, 0x10+i)
		node := fmt.Sprintf("%d\n", i/5)
		hca := fmt.Sprintf("sys/class/infiniband/mlx5_%d/", i)
		nic := fmt.Sprintf("%s0000:%02x:00.0", bus, 0x40+i)
		files["sys/"+nic+"/numa_node"] = node
		links[hca+"device"] = "../../../" + nic
		port := hca + "ports/1/"
		files[hca+"node_guid"] = fmt.Sprintf("e41d:2d03:00c1:00%02x\n", i)
		files[port+"state"], files[port+"phys_state"] = "4: ACTIVE\n", "5: LinkUp\n"
		files[port+"rate"], files[port+"link_layer"] = "400 Gb/sec (4X NDR)\n", "InfiniBand\n"
		files[port+"lid"], files[port+"sm_lid"] = fmt.Sprintf("0x%x\n", 20+i), "0x1\n"
		if i == 8 {
			files[port+"state"], files[port+"phys_state"], files[port+"link_layer"] = "1: DOWN\n", "3: Disabled\n", "Ethernet\n"
			continue
		}
		card := fmt.Sprintf("0000:%02x:00.0", 0x18+i)
		files["sys/"+bus+card+"/numa_node"] = node
		links["sys/bus/pci/devices/"+card] = "../../../" + bus + card
	}
	files["sys/class/infiniband/mlx5_3/ports/1/counters/symbol_error"] = "7\n"
	root := t.TempDir()
	write(t, root, files, links)
	return root
}

// discovered is what is found in a tree, without what this machine itself says.
func discovered(t *testing.T, root string, change func(*discovery.Config)) (inventory.Facts, inventory.Sample) {
	t.Helper()
	none := filepath.Join(root, "none")
	cfg := discovery.Config{
		Sys: filepath.Join(root, "sys"), Proc: filepath.Join(root, "proc"), Etc: filepath.Join(root, "etc"), Version: "1.2.3",
		Ports: ports.Config{
			Dev: filepath.Join(root, "dev"), Addrs: func() ([]ports.Addr, error) { return nil, nil },
			Tools: ports.Tools{SMInfo: none, SAQuery: none, SMPQuery: none, IBNetDiscover: none, IMEXCtl: none, Systemctl: none},
		},
	}
	if change != nil {
		change(&cfg)
	}
	p, err := discovery.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f, s := p.Facts(t.Context()), p.Sample(t.Context())
	f.Arch = "amd64"
	f.Warnings = slices.DeleteFunc(f.Warnings, func(w string) bool {
		return slices.ContainsFunc([]string{"AVX2", "virtual", "the flags of"}, func(own string) bool { return strings.Contains(w, own) })
	})
	for i, w := range f.Warnings {
		f.Warnings[i] = strings.ReplaceAll(w, root, "")
	}
	return f, s
}

// golden compares a page with the one that is kept.
func golden(t *testing.T, name string, f inventory.Facts, s inventory.Sample) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, f, s); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("the page has changed; run the test with -update when that is wanted:\n%s", d)
	}
	return b.String()
}

func TestPageOfEightCardsAndNinePorts(t *testing.T) {
	t.Parallel()
	f, s := discovered(t, big(t), func(c *discovery.Config) {
		c.GPUs = driver{}
		c.Labels = map[string]string{"site": "north", "rack": "r12"}
		c.Engines = func(context.Context) []inventory.Engine {
			return []inventory.Engine{{Name: "llamacpp", Build: "cuda", Version: "b6000"}, {Name: "vllm", Build: "cu129", Version: "0.11.0"}}
		}
	})
	f.DiskFreeMB, f.DiskTotalMB = 5<<20, 7<<20
	f.Disks = []inventory.Disk{
		{Mount: "/", Source: "/dev/sda1", Type: "ext4", FreeMB: 40 << 10, TotalMB: 100 << 10},
		{Mount: "/srv/weights", Source: "/dev/md0", Type: "xfs", FreeMB: 5 << 20, TotalMB: 7 << 20},
	}
	f.Weights = []inventory.Weight{{Path: "big/model-00001-of-00002.safetensors", Bytes: 5 << 30}, {Path: "chat.gguf", Bytes: 900 << 20}}
	page := golden(t, "eight", f, s)
	if n := strings.Count(page, "\n"); n > 75 {
		t.Errorf("want a page that can be looked at as one, got %d lines", n)
	}
}

func TestPageOfAMachineWithNothing(t *testing.T) {
	t.Parallel()
	f, s := discovered(t, t.TempDir(), nil)
	f.CPUs, f.CPUFlags = 0, nil // as the processor itself says
	golden(t, "nothing", f, s)
}

// What neither of the others has: instances, a GPU fabric with a domain, managers,
// shared disks, many weights, and names that would move a terminal.
func TestPageOfTheRest(t *testing.T) {
	t.Parallel()
	sm := inventory.SubnetManager{GUID: "e41d2d0300c100ff", LID: 1, State: "master", Priority: 14}
	f := inventory.Facts{
		Hostname: "node\x1b[2J-2", MgmtAddr: "10.0.0.7", OS: "Some System", Kernel: "6.8.0", Arch: "arm64", Virtual: "QEMU", CPUFlags: []string{},
		CPUs: 4, MemoryMB: 900, ReserveMB: 45, IMEX: "ready", IMEXChannels: ptr(1), Ports: []inventory.Port{
			{HCA: "ibp1", Port: 1, State: "ACTIVE", Physical: "sm:e41d2d0300c100ff", SM: &sm, SMs: []inventory.SubnetManager{sm, {GUID: "e41d2d0300c100fe"}}},
			{HCA: "ibp2", Port: 1, State: "ACTIVE", Physical: "sm:e41d2d0300c100ff", SM: &sm},
			{HCA: "roce0", Port: 1, State: "ACTIVE", Physical: "roce:10.1.2.0/24", Interface: "eth2", Network: "10.1.2.0/24", MTU: 4096},
			{HCA: "ibp3", Port: 1, State: "INIT", SMError: "nobody answers"},
		},
		Devices: []inventory.Device{
			{Index: 0, Label: "0", Class: "GB200-186", NUMA: -1, NVLinkPeers: []int{1}, FabricState: "completed", Domain: "d.0", Bandwidth: "full"},
			{Index: 1, Label: "1", Class: "GB200-186", NUMA: -1, NVLinkPeers: []int{0}, FabricState: "completed", Domain: "d.0", Bandwidth: "full"},
			{Index: 2, Card: 2, Label: "2", Class: "GB200-186", NUMA: -1, FabricState: "in progress", ForeignMB: 512},
			{Index: 301, Card: 3, Label: "3/mig1", MIGProfile: "3g.40gb", Class: "3g.40gb", NUMA: 0, MemoryMB: 40448},
		},
		Disks:   []inventory.Disk{{Mount: "/shared", Source: "server:/export", Type: "nfs4", Shared: true, FreeMB: 1 << 20, TotalMB: 2 << 20}},
		Engines: []inventory.Engine{},
	}
	for i := range 15 {
		f.Weights = append(f.Weights, inventory.Weight{Path: fmt.Sprintf("m%02d.gguf", i), Bytes: 1 << 30})
	}
	page := golden(t, "rest", f, inventory.Sample{CPUPercent: 12, CPUPowerW: ptr(180.0)})
	if strings.ContainsRune(page, 0x1b) {
		t.Error("want nothing in the page that moves a terminal")
	}
}

func TestJSONGivesBothBack(t *testing.T) {
	t.Parallel()
	f, s := inventory.Facts{Hostname: "n", Warnings: []string{"w"}}, inventory.Sample{Load1: 2}
	var b bytes.Buffer
	if err := JSON(&b, f, s); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Facts  inventory.Facts  `json:"facts"`
		Sample inventory.Sample `json:"sample"`
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f, got.Facts) + cmp.Diff(s, got.Sample); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
