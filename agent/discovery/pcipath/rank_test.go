package pcipath

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRank(t *testing.T) {
	t.Parallel()
	const azure = "/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/"
	for what, c := range map[string]struct {
		a, b   string
		na, nb int
		want   Path
	}{
		"two functions of one slot":            {"/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.1", 0, 0, PIX},
		"one switch":                           {"/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0", "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0", 0, 0, PIX},
		"two switches in a row":                {"/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/0000:03:00.0/0000:04:00.0/0000:07:00.0", "/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:10.0/0000:0b:00.0/0000:0c:04.0/0000:0c:00.0", 3, 3, PXB},
		"one switch, one behind another":       {"/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/0000:03:00.0", "/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:10.0/0000:0b:00.0/0000:0c:04.0/0000:0c:00.0", 0, 0, PXB},
		"two root ports of one host bridge":    {"/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0", "/sys/devices/pci0000:40/0000:40:03.1/0000:42:00.0", 0, 0, PHB},
		"the same, and no memory node is told": {"/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0", "/sys/devices/pci0000:40/0000:40:03.1/0000:42:00.0", -1, -1, PHB},
		"two host bridges of one memory node":  {"/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0", "/sys/devices/pci0000:37/0000:37:01.0/0000:38:00.0", 0, 0, Node},
		"two memory nodes":                     {"/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0", "/sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0", 0, 1, Sys},
		"two host bridges, nobody says":        {"/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0", "/sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0", 0, -1, Unknown},
		"a flat bus of a virtual machine":      {"/sys/devices/pci0000:00/0000:00:05.0", "/sys/devices/pci0000:00/0000:00:06.0", -1, -1, Unknown},
		"a flat bus that tells memory nodes":   {"/sys/devices/pci0000:00/0000:00:05.0", "/sys/devices/pci0000:00/0000:00:06.0", 0, 0, PHB},
		"a domain for each device":             {azure + "47505500-0001/pci0001:00/0001:00:00.0", azure + "47505500-0101/pci0101:00/0101:00:00.0", 0, 0, Node},
		"a root inside a device":               {"/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0", "/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:07.0/10000:e2:00.0", 0, 0, PHB},
		"an adapter in software":               {"/sys/devices/pci0000:00/0000:00:05.0", "/sys/devices/virtual/infiniband/rxe0", 0, -1, Unknown},
		"the device itself":                    {"/sys/devices/pci0000:00/0000:00:05.0", "/sys/devices/pci0000:00/0000:00:05.0", 0, 0, Unknown},
	} {
		a, b := Device{Chain: chain(c.a), NUMA: c.na}, Device{Chain: chain(c.b), NUMA: c.nb}
		if got := Rank(a, b); got != c.want {
			t.Errorf("%s: want %q, got %q", what, c.want, got)
		}
		if got := Rank(b, a); got != c.want {
			t.Errorf("%s, the other way: want %q, got %q", what, c.want, got)
		}
	}
}

// sysfs lays out devices as the kernel does: folders below devices, links to
// them by address, and adapters that link back.
type sysfs struct {
	t    *testing.T
	root string
}

func (s sysfs) device(rel string, numa int) {
	s.t.Helper()
	dir := filepath.Join(s.root, "devices", rel)
	s.must(os.MkdirAll(dir, 0o755))
	s.must(os.WriteFile(filepath.Join(dir, "numa_node"), []byte(strconv.Itoa(numa)+"\n"), 0o644))
	links := filepath.Join(s.root, "bus", "pci", "devices")
	s.must(os.MkdirAll(links, 0o755))
	s.must(os.Symlink(filepath.Join("..", "..", "..", "devices", rel), filepath.Join(links, filepath.Base(rel))))
}

func (s sysfs) adapter(rel, name string) {
	s.t.Helper()
	dir := filepath.Join(s.root, "devices", rel, "infiniband", name)
	s.must(os.MkdirAll(dir, 0o755))
	s.must(os.Symlink(filepath.Join("..", ".."), filepath.Join(dir, "device")))
	class := filepath.Join(s.root, "class", "infiniband")
	s.must(os.MkdirAll(class, 0o755))
	s.must(os.Symlink(filepath.Join("..", "..", "devices", rel, "infiniband", name), filepath.Join(class, name)))
}

func (s sysfs) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestNearestAdapterOfAMachine(t *testing.T) {
	t.Parallel()
	s := sysfs{t, t.TempDir()}
	const near, far = "pci0000:15/0000:15:01.0/0000:16:00.0/", "pci0000:97/0000:97:01.0/0000:98:00.0/"
	s.device(near+"0000:17:00.0/0000:18:00.0", 0) // a card
	s.device(near+"0000:17:01.0/0000:19:00.0", 0) // adapters
	s.device(near+"0000:17:02.0/0000:1a:00.0", 0)
	s.device(far+"0000:99:00.0/0000:9a:00.0", 1)
	s.adapter(near+"0000:17:01.0/0000:19:00.0", "mlx5_3")
	s.adapter(near+"0000:17:02.0/0000:1a:00.0", "mlx5_1")
	s.adapter(far+"0000:99:00.0/0000:9a:00.0", "mlx5_0")
	s.adapter("virtual", "rxe0")

	adapters, err := Adapters(s.root)
	if err != nil {
		t.Fatal(err)
	}
	card, err := At(s.root, "0000:18:00.0")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Device{Chain: []string{"pci0000:15", "0000:15:01.0", "0000:16:00.0", "0000:17:00.0", "0000:18:00.0"}}, card); d != "" {
		t.Errorf("the card (-want +got):\n%s", d)
	}
	if card.Root() != "0000:15" || card.Address() != "0000:18:00.0" {
		t.Errorf("want root 0000:15 and address 0000:18:00.0, got %s and %s", card.Root(), card.Address())
	}
	if len(adapters) != 3 {
		t.Errorf("want three adapters without the software one, got %v", adapters)
	}
	// Two are equally near: the first by name. The farthest comes first by name.
	if name, path := Nearest(card, adapters); name != "mlx5_1" || path != PIX {
		t.Errorf("want mlx5_1 by PIX, got %q by %q", name, path)
	}
	if name, path := Nearest(card, map[string]Device{"mlx5_0": adapters["mlx5_0"]}); name != "mlx5_0" || path != Sys {
		t.Errorf("want mlx5_0 by SYS, got %q by %q", name, path)
	}
	if name, path := Nearest(Device{NUMA: -1}, adapters); name != "" || path != Unknown {
		t.Errorf("a card on no bus: want none, got %q by %q", name, path)
	}
}

func TestAMachineWithoutAdaptersOrDevices(t *testing.T) {
	t.Parallel()
	if a, err := Adapters(t.TempDir()); len(a) != 0 || err != nil {
		t.Errorf("want none and no error, got %v and %v", a, err)
	}
	for _, address := range []string{"0000:18:00.0", "../../../etc", ""} {
		if d, err := At(t.TempDir(), address); err == nil || d.NUMA != -1 {
			t.Errorf("%q: want an error and no memory node, got %v", address, d)
		}
	}
}
