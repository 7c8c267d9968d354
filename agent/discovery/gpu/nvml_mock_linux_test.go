//go:build cgo

package gpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxb200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/gpus"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
	"github.com/google/go-cmp/cmp"
)

// mocked is a machine of the library's own mocks with what they lack filled in.
func mocked(s *server.Server, change func(i int, d *server.Device)) *driver {
	s.SystemGetCudaDriverVersion_v2Func = func() (int, nvml.Return) { return 13000, nvml.SUCCESS }
	for i, x := range s.Devices {
		d := x.(*server.Device)
		fill(i, d)
		if change != nil {
			change(i, d)
		}
	}
	return &driver{lib: s, has: func(string) bool { return true }}
}

// fill answers what a mock would panic about, as a card that says nothing.
func fill(i int, d *server.Device) {
	d.GetNameFunc = func() (string, nvml.Return) { return strings.TrimPrefix(d.Config.Name, "Mock "), nvml.SUCCESS }
	d.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) {
		var p nvml.PciInfo
		for k, c := range fmt.Sprintf("00000000:%02X:00.0", 0x10+i) {
			p.BusId[k] = int8(c)
		}
		return p, nvml.SUCCESS
	}
	d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
		return nvml.Memory_v2{Total: d.Config.MemoryMB << 20, Used: 3 << 20}, nvml.SUCCESS
	}
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 0, nvml.SUCCESS }
	d.GetNvLinkStateFunc = func(int) (nvml.EnableState, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	d.GetGpuFabricInfo_v4Func = func() (nvml.GpuFabricInfo_v4, nvml.Return) {
		return nvml.GpuFabricInfo_v4{State: nvml.GPU_FABRIC_STATE_NOT_SUPPORTED}, nvml.SUCCESS
	}
	d.GetP2PStatusFunc = func(nvml.Device, nvml.GpuP2PCapsIndex) (nvml.GpuP2PStatus, nvml.Return) {
		return nvml.P2P_STATUS_NOT_SUPPORTED, nvml.SUCCESS
	}
	d.GetFieldValuesFunc = func([]nvml.FieldValue) nvml.Return { return nvml.ERROR_NOT_SUPPORTED }
	d.GetTotalEccErrorsFunc = func(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) {
		return 0, nvml.ERROR_NOT_SUPPORTED
	}
	d.GetSramEccErrorStatusFunc = func() (nvml.EccSramErrorStatus, nvml.Return) {
		return nvml.EccSramErrorStatus{}, nvml.ERROR_NOT_SUPPORTED
	}
	d.GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) { return 0, 0, false, false, nvml.ERROR_NOT_SUPPORTED }
	d.GetRetiredPagesPendingStatusFunc = func() (nvml.EnableState, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	d.GetCurrPcieLinkWidthFunc = func() (int, nvml.Return) { return 16, nvml.SUCCESS }
	d.GetMaxPcieLinkWidthFunc = func() (int, nvml.Return) { return 16, nvml.SUCCESS }
	d.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return 1, nvml.SUCCESS }
	d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 77, nvml.SUCCESS }
	d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 33, nvml.SUCCESS }
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 100000, nvml.SUCCESS }
	d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, nvml.ERROR_NOT_SUPPORTED }
	d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.ERROR_NOT_SUPPORTED }
}

func TestMockMachinesHaveTheirClasses(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*server.Server{
		"A100-40": dgxa100.New(), "H100-80": dgxh100.New(), "H200-141": dgxh200.New(), "B200-180": dgxb200.New(),
		"A30-24": dgxa100.NewWithGPUs(gpus.A30_PCIE_24GB), "A100-80": dgxa100.NewWithGPUs(gpus.Multiple(4, gpus.A100_PCIE_80GB)...),
	} {
		snap, err := mocked(s, nil).read()
		if err != nil {
			t.Fatal(err)
		}
		if len(snap.Cards) != len(s.Devices) || snap.CUDA != "13.0" || snap.Driver == "" {
			t.Errorf("%s: want %d cards, got %+v", want, len(s.Devices), snap)
		}
		devices, _ := view(snap.Cards...).Devices()
		for _, d := range devices {
			if string(d.Class) != want || d.ComputeCapability == "" || d.PCI != fmt.Sprintf("0000:%02x:00.0", 0x10+d.Card) {
				t.Errorf("want class %s, got %+v", want, d)
			}
		}
	}
}

// The mocks have no handles of instances; these are as a driver gives them.
func TestMockCardWithInstances(t *testing.T) {
	t.Parallel()
	d := mocked(dgxa100.NewWithGPUs(gpus.A100_SXM4_40GB), func(_ int, d *server.Device) {
		d.MigMode = nvml.DEVICE_MIG_ENABLE
		d.GetMigModeFunc = func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, nvml.DEVICE_MIG_ENABLE, nvml.SUCCESS }
		d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
		d.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
			if i != 1 && i != 4 {
				return nil, nvml.ERROR_NOT_FOUND
			}
			return &mock.Device{
				GetUUIDFunc:          func() (string, nvml.Return) { return fmt.Sprintf("MIG-%d", i), nvml.SUCCESS },
				GetNameFunc:          func() (string, nvml.Return) { return "NVIDIA A100-SXM4-40GB", nvml.SUCCESS },
				GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_NOT_SUPPORTED },
				GetMemoryInfoFunc:    func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_NOT_SUPPORTED },
				GetAttributesFunc: func() (nvml.DeviceAttributes, nvml.Return) {
					return nvml.DeviceAttributes{GpuInstanceSliceCount: 3, ComputeInstanceSliceCount: 3, MemorySizeMB: 19968}, nvml.SUCCESS
				},
				GetComputeRunningProcessesFunc: func() ([]nvml.ProcessInfo, nvml.Return) {
					return []nvml.ProcessInfo{{Pid: 9, UsedGpuMemory: 5 << 20}}, nvml.SUCCESS
				},
			}, nvml.SUCCESS
		}
	})
	snap, err := d.read()
	if err != nil {
		t.Fatal(err)
	}
	devices, _ := view(snap.Cards...).Devices()
	const want = "101 0/mig1 3g.20gb MIG-1 19968 []\n104 0/mig4 3g.20gb MIG-4 19968 []"
	if briefs(devices) != want {
		t.Errorf("got:\n%s", briefs(devices))
	}
	if d := cmp.Diff([]Process{{PID: 9, UsedMB: 5}}, snap.Cards[0].MIG.Instances[0].Process); d != "" {
		t.Errorf("its processes (-want +got):\n%s", d)
	}
}

// The newest form of the fabric's call, and links through switches.
func TestMockCardsInAFabric(t *testing.T) {
	t.Parallel()
	d := mocked(dgxh100.NewWithGPUs(gpus.Multiple(3, gpus.H100_SXM5_80GB)...), func(i int, d *server.Device) {
		d.GetGpuFabricInfo_v4Func = func() (nvml.GpuFabricInfo_v4, nvml.Return) {
			f := nvml.GpuFabricInfo_v4{State: nvml.GPU_FABRIC_STATE_COMPLETED, NumCliques: 2, HealthMask: 1}
			f.ClusterUuid[15] = 7
			f.Cliques[0] = nvml.GpuFabricClique_v1{Type: nvml.GPU_FABRIC_CLIQUE_TYPE_UNICAST_LOGICAL_ENDPOINT, Id: 1}
			f.Cliques[1] = nvml.GpuFabricClique_v1{Type: nvml.GPU_FABRIC_CLIQUE_TYPE_UNICAST_POINTER, Id: 32766}
			return f, nvml.SUCCESS
		}
		d.GetNvLinkStateFunc = func(l int) (nvml.EnableState, nvml.Return) {
			switch {
			case i == 2:
				return 0, nvml.ERROR_NOT_SUPPORTED
			case l >= 18:
				return 0, nvml.ERROR_INVALID_ARGUMENT
			}
			return nvml.EnableState(l % 2), nvml.SUCCESS
		}
		d.GetP2PStatusFunc = func(nvml.Device, nvml.GpuP2PCapsIndex) (nvml.GpuP2PStatus, nvml.Return) {
			return nvml.P2P_STATUS_OK, nvml.SUCCESS
		}
		d.GetFieldValuesFunc = func(f []nvml.FieldValue) nvml.Return {
			f[0].Value[0] = 2
			return nvml.SUCCESS
		}
	})
	snap, err := d.read()
	if err != nil {
		t.Fatal(err)
	}
	c := snap.Cards[0]
	if c.Fabric.domain() != "00000000-0000-0000-0000-000000000007.32766" || c.Fabric.bandwidth() != "degraded" {
		t.Errorf("got %+v", c.Fabric)
	}
	if c.LinksUp == nil || *c.LinksUp != 9 || !cmp.Equal(c.Linked, []int{1}) || snap.Cards[2].Linked != nil || snap.Cards[2].LinksUp != nil {
		t.Errorf("want nine links that work, to card 1 and not to the one without, got %+v", snap.Cards)
	}
	if c.State.Recovery == nil || *c.State.Recovery != 2 || *c.State.Energy != 77 {
		t.Errorf("got %+v", c.State)
	}
}

// An old driver has no newer functions: what is asked for first is not called.
func TestMockOldDriver(t *testing.T) {
	t.Parallel()
	d := mocked(dgxa100.NewWithGPUs(gpus.A100_SXM4_40GB), func(_ int, d *server.Device) {
		d.GetGpuFabricInfo_v4Func, d.GetMemoryInfo_v2Func, d.GetSramEccErrorStatusFunc = nil, nil, nil
		d.GetCurrentClocksEventReasonsFunc, d.GetTotalEnergyConsumptionFunc, d.GetP2PStatusFunc = nil, nil, nil
		d.GetRetiredPagesPendingStatusFunc = nil
	})
	d.has = func(string) bool { return false }
	snap, err := d.read()
	if err != nil || len(snap.Cards) != 1 || snap.Cards[0].MemoryMB != 40960 {
		t.Errorf("want a card without what is new, got %+v, %v", snap, err)
	}
}

func TestMockCardThatUsesTheMachinesMemory(t *testing.T) {
	t.Parallel()
	d := mocked(dgxa100.NewWithGPUs(gpus.A100_SXM4_40GB), func(_ int, d *server.Device) {
		d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_NOT_SUPPORTED }
		d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_NOT_SUPPORTED }
		d.GetMigModeFunc = func() (int, int, nvml.Return) { return 0, 0, nvml.ERROR_NOT_SUPPORTED }
	})
	snap, err := d.read()
	if err != nil || !snap.Cards[0].HostMemory || snap.Cards[0].MIG != nil {
		t.Errorf("got %+v, %v", snap, err)
	}
}
