package discovery

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/agent/discovery/gpu"
	"llmgw.io/llmgw/inventory"
)

// driver is one that says what it is told to.
type driver struct {
	snapshot gpu.Snapshot
	err      error
}

func (d driver) Snapshot(context.Context) (gpu.Snapshot, error) { return d.snapshot, d.err }

// onBus puts a card and an adapter on one switch of a tree that was written.
func onBus(t *testing.T, root string) {
	t.Helper()
	const at = "devices/pci0000:15/0000:15:01.0/0000:16:00.0/"
	for _, l := range []struct{ dir, link, to string }{
		{at + "0000:17:00.0/0000:18:00.0", "bus/pci/devices/0000:18:00.0", "../../../" + at + "0000:17:00.0/0000:18:00.0"},
		{at + "0000:17:01.0/0000:19:00.0/infiniband/mlx5_2", "class/infiniband/mlx5_2", "../../" + at + "0000:17:01.0/0000:19:00.0/infiniband/mlx5_2"},
		{at + "0000:17:01.0", at + "0000:17:01.0/0000:19:00.0/infiniband/mlx5_2/device", "../.."},
	} {
		link := filepath.Join(root, "sys", l.link)
		for _, d := range []string{filepath.Join(root, "sys", l.dir), filepath.Dir(link)} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(l.to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "sys", at, "0000:17:00.0/0000:18:00.0/numa_node"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestGPUsAreFacts(t *testing.T) {
	t.Parallel()
	temp, used := 40.0, int64(900)
	card := gpu.Card{
		UUID: "GPU-1", Name: "NVIDIA L40S", PCI: "0000:18:00.0", MemoryMB: 46068, Capability: "8.9",
		Sensors: gpu.Sensors{TempC: &temp, UsedMB: &used}, Process: []gpu.Process{{PID: 7, UsedMB: 300}, {PID: 8, UsedMB: 600}},
	}
	p := whole().prober(t, func(c *Config) {
		c.GPUs = driver{snapshot: gpu.Snapshot{Driver: "580.95.05", CUDA: "13.0", Cards: []gpu.Card{card}}}
		c.Foreign = func(pid int) bool { return pid == 7 }
		onBus(t, filepath.Dir(c.Sys))
	})
	f := p.Facts(t.Context())
	want := []inventory.Device{{
		UUID: "GPU-1", Name: "NVIDIA L40S", Label: "0", Class: "L40S-48", MemoryMB: 46068, ForeignMB: 512, ComputeCapability: "8.9",
		NUMA: 1, PCI: "0000:18:00.0", PCIRoot: "0000:15", NearestNIC: "mlx5_2", NICPath: "PIX",
	}}
	if d := cmp.Diff(want, f.Devices); d != "" || f.Driver != "580.95.05" || f.CUDA != "13.0" || len(f.Warnings) > 0 {
		t.Errorf("driver %s, CUDA %s, warnings %q (-want +got):\n%s", f.Driver, f.CUDA, f.Warnings, d)
	}
	if d := cmp.Diff([]inventory.GPUSensor{{TempC: &temp, MemoryUsedMB: &used}}, p.Sample(t.Context()).GPUs); d != "" {
		t.Errorf("sensors (-want +got):\n%s", d)
	}
	if got, err := p.Used(t.Context()); err != nil || !cmp.Equal(got, map[int]int64{0: 900}) {
		t.Errorf("want what is used, got %v, %v", got, err)
	}
}

// A driver that fails takes no other fact along.
func TestGPUsDegradeAlone(t *testing.T) {
	t.Parallel()
	healthy := whole().prober(t, nil).Facts(t.Context())
	p := whole().prober(t, func(c *Config) { c.GPUs = driver{err: errors.New("gpu: it is broken")} })
	got := p.Facts(t.Context())
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "the GPUs cannot be found: gpu: it is broken") {
		t.Errorf("want one warning, got %q", got.Warnings)
	}
	got.Warnings = nil
	if d := cmp.Diff(healthy, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := whole().prober(t, nil).Used(t.Context()); !errors.Is(err, errNoGPUs) {
		t.Errorf("want that nothing reads GPUs, got %v", err)
	}
}
