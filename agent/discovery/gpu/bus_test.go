package gpu

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machine is a made-up tree of the kernel's files.
type machine struct {
	t    *testing.T
	root string
}

func (m machine) file(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// device is a function on the bus with the module it belongs to.
func (m machine) device(pci, vendor, class, module string) {
	m.t.Helper()
	dir := "sys/bus/pci/devices/" + pci
	m.file(dir+"/vendor", vendor+"\n")
	m.file(dir+"/class", class+"\n")
	m.file(dir+"/config", "\xde\x10\x30\x23rest")
	if module != "" {
		if err := os.Symlink("../../../../bus/pci/drivers/"+module, filepath.Join(m.root, dir, "driver")); err != nil {
			m.t.Fatal(err)
		}
	}
}

func (m machine) bus() BusView {
	return Bus(filepath.Join(m.root, "sys"), filepath.Join(m.root, "proc"))
}

func TestBus(t *testing.T) {
	t.Parallel()
	m := machine{t, t.TempDir()}
	if d := cmp.Diff(BusView{}, m.bus()); d != "" {
		t.Errorf("an empty machine (-want +got):\n%s", d)
	}
	m.device("0000:18:00.0", "0x10de", "0x030200", "nvidia")
	m.device("0000:20:00.0", "0x10de", "0x030200", "nvidia")
	m.device("0000:28:00.0", "0x10de", "0x030000", "vfio-pci")
	m.device("0000:28:00.1", "0x10de", "0x040300", "snd_hda_intel") // its sound
	m.device("0000:30:00.0", "0x10de", "0x068000", "nvidia-nvswitch")
	m.device("0000:40:00.0", "0x1a03", "0x030000", "ast") // the board's own
	want := BusView{Switches: 1, Cards: []BusCard{
		{PCI: "0000:18:00.0", Driver: "nvidia", Listed: true},
		{PCI: "0000:20:00.0", Driver: "nvidia", Listed: true},
		{PCI: "0000:28:00.0", Driver: "vfio-pci"},
	}}
	if d := cmp.Diff(want, m.bus()); d != "" {
		t.Errorf("without the driver's files (-want +got):\n%s", d)
	}
	// A container sees the whole bus, and may use what the driver's files name.
	m.file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\nGCC version:  gcc version 12.2.0\n")
	m.file("proc/driver/nvidia/gpus/0000:20:00.0/information", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 90\nGPU UUID: \t GPU-1234\nDevice Minor: \t 1\n")
	m.file("proc/driver/nvidia/gpus/0000:99:00.0/information", "Model: \t\t NVIDIA A30\nGPU UUID: \t GPU-????????-????\n")
	want = BusView{Switches: 1, Module: "580.95.05", Cards: []BusCard{
		{PCI: "0000:18:00.0", Driver: "nvidia"},
		{PCI: "0000:20:00.0", Driver: "nvidia", Listed: true, Model: "NVIDIA H100 80GB HBM3", UUID: "GPU-1234"},
		{PCI: "0000:28:00.0", Driver: "vfio-pci"},
		{PCI: "0000:99:00.0", Listed: true, Model: "NVIDIA A30"},
	}}
	if d := cmp.Diff(want, m.bus()); d != "" {
		t.Errorf("with the driver's files (-want +got):\n%s", d)
	}
}

// A machine with switches needs a manager. In a container nobody knows.
func TestSwitchesWantAManager(t *testing.T) {
	t.Parallel()
	m := machine{t, t.TempDir()}
	is := func(want bool, when string) {
		t.Helper()
		if got := m.bus().Unmanaged; got != want {
			t.Errorf("%s: want %v, got %v", when, want, got)
		}
	}
	m.file("proc/1/comm", "systemd\n")
	is(false, "without switches")
	m.device("0000:30:00.0", "0x10de", "0x068000", "nvidia-nvswitch")
	is(true, "with switches and no manager")
	m.file("proc/812/comm", "nv-fabricmanage\n")
	is(false, "with a manager")
	m.file("proc/812/comm", "llmgw-agent\n")
	m.file("proc/1/comm", "llmgw-agent\n")
	is(false, "in a container")
}

func TestDeadCardGivesNothingButOnes(t *testing.T) {
	t.Parallel()
	m := machine{t, t.TempDir()}
	m.device("0000:18:00.0", "0x10de", "0x030200", "nvidia")
	m.file("sys/bus/pci/devices/0000:20:00.0/config", "\xff\xff\xff\xff\xff\xff")
	for pci, want := range map[string]bool{"0000:18:00.0": false, "0000:20:00.0": true, "0000:28:00.0": false} {
		if got := dead(filepath.Join(m.root, "sys"), pci); got != want {
			t.Errorf("%s: want %v, got %v", pci, want, got)
		}
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"00000000:18:00.0": "0000:18:00.0", "00000000:AF:00.0": "0000:af:00.0", "0000:18:00.0": "0000:18:00.0",
		"000f:01:00.0": "000f:01:00.0", "00010000:E1:00.0": "10000:e1:00.0", "": "", "GPU": "gpu",
	} {
		if got := Address(in); got != want {
			t.Errorf("%q: want %q, got %q", in, want, got)
		}
	}
}
