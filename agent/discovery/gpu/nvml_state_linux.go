//go:build linux && cgo

package gpu

import (
	"encoding/binary"
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// state reads how a card does. What it does not say stays nil.
func (d *driver) state(h nvml.Device) State {
	var s State
	f := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if r := h.GetFieldValues(f); r == nvml.SUCCESS && nvml.Return(f[0].NvmlReturn) == nvml.SUCCESS {
		s.Recovery = ptr(int(binary.NativeEndian.Uint32(f[0].Value[:4])))
	}
	if n, r := h.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); r == nvml.SUCCESS {
		s.Uncorrected = ptr(int64(min(n, math.MaxInt64)))
	}
	if d.has("nvmlDeviceGetSramEccErrorStatus") {
		if e, r := h.GetSramEccErrorStatus(); r == nvml.SUCCESS {
			s.SRAMWorn = ptr(e.BThresholdExceeded != 0)
		}
	}
	if _, _, pending, failed, r := h.GetRemappedRows(); r == nvml.SUCCESS {
		s.RemapPending, s.RemapFailed = &pending, &failed
	} else if d.has("nvmlDeviceGetRetiredPagesPendingStatus") {
		if p, r := h.GetRetiredPagesPendingStatus(); r == nvml.SUCCESS {
			s.RetirePending = ptr(p == nvml.FEATURE_ENABLED)
		}
	}
	if w, r := h.GetCurrPcieLinkWidth(); r == nvml.SUCCESS {
		s.Width = &w
	}
	if w, r := h.GetMaxPcieLinkWidth(); r == nvml.SUCCESS {
		s.MaxWidth = &w
	}
	switch {
	case d.has("nvmlDeviceGetCurrentClocksEventReasons"):
		if b, r := h.GetCurrentClocksEventReasons(); r == nvml.SUCCESS {
			s.Slowed = &b
		}
	case d.has("nvmlDeviceGetCurrentClocksThrottleReasons"):
		if b, r := h.GetCurrentClocksThrottleReasons(); r == nvml.SUCCESS {
			s.Slowed = &b
		}
	}
	if d.has("nvmlDeviceGetTotalEnergyConsumption") {
		if e, r := h.GetTotalEnergyConsumption(); r == nvml.SUCCESS {
			s.Energy = ptr(int64(min(e, math.MaxInt64)))
		}
	}
	return s
}

// sensors measures a card.
func (d *driver) sensors(h nvml.Device, c *Card) {
	if t, r := h.GetTemperature(nvml.TEMPERATURE_GPU); r == nvml.SUCCESS {
		c.Sensors.TempC = ptr(float64(t))
	}
	if p, r := h.GetPowerUsage(); r == nvml.SUCCESS {
		c.Sensors.PowerW = ptr(float64(p) / 1000)
	}
	if c.MIG == nil || !c.MIG.On { // of a partitioned card nobody knows
		if u, r := h.GetUtilizationRates(); r == nvml.SUCCESS {
			c.Sensors.UtilPercent = ptr(float64(u.Gpu))
		}
	}
}

// mostProcesses bounds the list of one device.
const mostProcesses = 512

// processes are those that have memory of a device. One whose memory the driver
// does not say is left out.
func processes(h nvml.Device) []Process {
	list, r := h.GetComputeRunningProcesses()
	if r != nvml.SUCCESS {
		return nil
	}
	var out []Process
	for _, p := range list[:min(len(list), mostProcesses)] {
		if mb := int64(p.UsedGpuMemory >> 20); p.UsedGpuMemory != math.MaxUint64 && mb > 0 {
			out = append(out, Process{PID: int(p.Pid), UsedMB: mb})
		}
	}
	return out
}

func ptr[T any](v T) *T { return &v }
