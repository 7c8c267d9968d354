package gpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
)

// view is one of cards that nothing is wrong with.
func view(cards ...Card) *View {
	return &View{
		Cards:    cards,
		Problem:  func(string) string { return "" },
		Warnings: func(string, int) []string { return nil },
		Place:    func(string) Place { return Place{NUMA: -1} },
	}
}

func h100(index, bus int) Card {
	return Card{
		Index: index, UUID: fmt.Sprintf("GPU-%d", bus), PCI: fmt.Sprintf("0000:%02x:00.0", bus),
		Name: "NVIDIA H100 80GB HBM3", MemoryMB: 81559, Capability: "9.0",
	}
}

// brief is a device in a line.
func brief(d inventory.Device) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s %s %s %d %v %s", d.Index, d.Label, d.Class, d.UUID, d.MemoryMB, d.NVLinkPeers, d.Problem))
}

func briefs(list []inventory.Device) string {
	var out []string
	for _, d := range list {
		out = append(out, brief(d))
	}
	return strings.Join(out, "\n")
}

func TestAWholeCardIsADevice(t *testing.T) {
	t.Parallel()
	c := h100(0, 0x18)
	c.Fabric = &Fabric{State: 3, Cluster: "01020304-0000-0000-0000-000000000000", Clique: 7, Health: 2}
	v := view(c)
	v.Place = func(pci string) Place {
		return map[string]Place{"0000:18:00.0": {NUMA: 1, Root: "0000:15", NIC: "mlx5_3", Path: "PIX"}}[pci]
	}
	got, warnings := v.Devices()
	want := []inventory.Device{{
		Index: 0, UUID: "GPU-24", Name: "NVIDIA H100 80GB HBM3", Label: "0", Class: "H100-80", MemoryMB: 81559, ComputeCapability: "9.0",
		NUMA: 1, PCI: "0000:18:00.0", PCIRoot: "0000:15", NearestNIC: "mlx5_3", NICPath: "PIX",
		FabricState: "completed", Domain: "01020304-0000-0000-0000-000000000000.7", Bandwidth: "full",
	}}
	if d := cmp.Diff(want, got); d != "" || len(warnings) > 0 {
		t.Errorf("warnings %q (-want +got):\n%s", warnings, d)
	}
}

// Machines whose cards are linked among themselves say a cluster of zeros: it is
// no domain. Nor is one that is not joined, or joined with an error.
func TestWhatIsNoDomain(t *testing.T) {
	t.Parallel()
	const real = "01020304-0000-0000-0000-000000000000"
	for _, f := range []*Fabric{nil, {State: 3, Cluster: noCluster}, {State: 2, Cluster: real}, {State: 3, Cluster: real, Status: 15}, {State: 3}} {
		if got := f.domain(); got != "" {
			t.Errorf("%+v: want no domain, got %q", f, got)
		}
	}
}

// The driver counts anew when a card is lost. Devices do not, also when the lost
// one was never seen and only the bus has it.
func TestALostCardLeavesTheOthersTheirNumbers(t *testing.T) {
	t.Parallel()
	lost := h100(1, 0x20)
	v := view(h100(0, 0x18), lost, h100(1, 0x28))
	v.Problem = func(key string) string {
		if key == "GPU-32" {
			return "It fell off the bus."
		}
		return ""
	}
	const seen = "0 0 H100-80 GPU-24 81559 []\n1 1 H100-80 GPU-32 81559 [] It fell off the bus.\n2 2 H100-80 GPU-40 81559 []"
	if got, _ := v.Devices(); briefs(got) != seen {
		t.Errorf("seen before, got:\n%s", briefs(got))
	}
	v = view(h100(0, 0x18), h100(1, 0x28))
	v.Bus = []BusCard{
		{PCI: "0000:18:00.0", Listed: true},
		{PCI: "0000:20:00.0", Listed: true, Model: "NVIDIA H100 80GB HBM3", UUID: "GPU-32"},
		{PCI: "0000:28:00.0", Listed: true},
		{PCI: "0000:30:00.0", Driver: "vfio-pci"}, // another owner's
	}
	const never = "0 0 H100-80 GPU-24 81559 []\n" +
		"1 1 H100-80 GPU-32 0 [] The driver does not list it, and the bus does. Look for its address in the kernel's log, and restart the machine.\n" +
		"2 2 H100-80 GPU-40 81559 []"
	if got, _ := v.Devices(); briefs(got) != never {
		t.Errorf("never seen, got:\n%s", briefs(got))
	}
}

// An instance has memory of its own: to report the card's for it made engines
// reserve more than there is (vllm-project/vllm#41776).
func TestInstancesAreDevicesWithTheirOwnMemory(t *testing.T) {
	t.Parallel()
	c := Card{Index: 0, UUID: "GPU-a", PCI: "0000:18:00.0", Name: "NVIDIA A100-SXM4-40GB", MemoryMB: 40960, Linked: []int{1}, MIG: &MIG{On: true, Instances: []Instance{
		{Index: 0, UUID: "MIG-a", Profile: "3g.20gb", MemoryMB: 19968},
		{Index: 2, UUID: "MIG-b", Profile: "3g.20gb", MemoryMB: 19968},
		{Index: 3, UUID: "MIG-c"},
	}}}
	empty := Card{Index: 1, UUID: "GPU-b", PCI: "0000:19:00.0", Name: "NVIDIA A100-SXM4-40GB", MemoryMB: 40960, MIG: &MIG{On: true}, Linked: []int{0}}
	off := Card{Index: 2, UUID: "GPU-c", PCI: "0000:1a:00.0", Name: "NVIDIA A100-SXM4-40GB", MemoryMB: 40960, MIG: &MIG{Pending: true}, Linked: []int{0, 1}}
	got, warnings := view(c, empty, off).Devices()
	const want = "100 0/mig0 3g.20gb MIG-a 19968 []\n102 0/mig2 3g.20gb MIG-b 19968 []\n103 0/mig3 mig MIG-c 0 []\n" +
		"1 1 A100-40 GPU-b 40960 [] It is partitioned (MIG), and has no instances. Make some, or switch MIG off.\n" +
		"2 2 A100-40 GPU-c 40960 []"
	if briefs(got) != want {
		t.Errorf("got:\n%s", briefs(got))
	}
	for _, d := range got[:3] {
		if !d.MIG() || d.Card != 0 {
			t.Errorf("%s must be an instance of card 0: %+v", d.Label, d)
		}
	}
	if d := cmp.Diff([]string{"GPU 2: a change of its MIG mode waits for a reset"}, warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
}

// The driver's indexes are not ours: peers are told by ours.
func TestPeersAreOurNumbers(t *testing.T) {
	t.Parallel()
	a, b, c := h100(2, 0x18), h100(0, 0x20), h100(1, 0x28)
	a.Linked, b.Linked, c.Linked = []int{0, 1}, []int{2}, []int{2, 7}
	got, _ := view(a, b, c).Devices()
	const want = "0 0 H100-80 GPU-24 81559 [1 2]\n1 1 H100-80 GPU-32 81559 [0]\n2 2 H100-80 GPU-40 81559 [0]"
	if briefs(got) != want {
		t.Errorf("got:\n%s", briefs(got))
	}
}

func TestADriverThatDoesNotAnswerTakesAllOut(t *testing.T) {
	t.Parallel()
	v := view(h100(0, 0x18), h100(1, 0x20))
	v.Stale = "The driver does not answer."
	v.Problem = func(key string) string { return map[string]string{"GPU-24": "Reset it."}[key] }
	got, _ := v.Devices()
	if got[0].Problem != "Reset it." || got[1].Problem != "The driver does not answer." {
		t.Errorf("got:\n%s", briefs(got))
	}
}

// A card that uses the machine's memory has that much.
func TestACardWithoutMemoryOfItsOwn(t *testing.T) {
	t.Parallel()
	v := view(Card{UUID: "GPU-a", PCI: "000f:01:00.0", Name: "NVIDIA GB10", HostMemory: true})
	v.HostMB = 122570
	if got, _ := v.Devices(); briefs(got) != "0 0 GB10-128 GPU-a 122570 []" {
		t.Errorf("got:\n%s", briefs(got))
	}
}

// Foreign memory is told in steps, and a small move is no news.
func TestForeignMemory(t *testing.T) {
	t.Parallel()
	foreign := func(pid int) bool { return pid >= 100 }
	for _, c := range []struct {
		list []Process
		of   func(int) bool
		was  map[int]int64
		want int64
	}{
		{[]Process{{1, 70000}, {2, 500}}, foreign, nil, 0},
		{[]Process{{1, 70000}, {200, 5}}, foreign, nil, 256},
		{[]Process{{200, 1000}, {300, 500}}, foreign, nil, 1536},
		{[]Process{{200, 1400}}, foreign, map[int]int64{0: 1792}, 1792},
		{[]Process{{200, 1200}}, foreign, map[int]int64{0: 1792}, 1280},
		{[]Process{{200, 1800}}, foreign, map[int]int64{0: 1792}, 2048},
		{nil, foreign, map[int]int64{0: 256}, 0},
		{[]Process{{200, 1000}}, nil, nil, 0}, // nobody knows whose it is
	} {
		x := h100(0, 0x18)
		x.Process = c.list
		v := view(x)
		v.Foreign, v.Told = c.of, c.was
		if got, _ := v.Devices(); got[0].ForeignMB != c.want {
			t.Errorf("%v after %v: want %d, got %d", c.list, c.was, c.want, got[0].ForeignMB)
		}
	}
}
