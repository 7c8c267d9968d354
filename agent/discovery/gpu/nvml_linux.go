//go:build linux && cgo

package gpu

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// driver is the driver's library, opened in this process.
type driver struct {
	lib nvml.Interface
	// has says whether the library has a function. One that it lacks would end the
	// process: what is newer than driver 470 is asked for first.
	has func(symbol string) bool
}

// open loads the driver's library, from the loader's places or from a path, and
// begins with it.
func open(library string) (*driver, error) {
	var opts []nvml.LibraryOption
	if library != "" {
		opts = append(opts, nvml.WithLibraryPath(library))
	}
	lib := nvml.New(opts...)
	if r := lib.Init(); r != nvml.SUCCESS {
		return nil, beginError(int(r), r.Error())
	}
	return &driver{lib: lib, has: func(s string) bool { return lib.Extensions().LookupSymbol(s) == nil }}, nil
}

// close ends with the library. The process ends too, whatever becomes of it.
func (d *driver) close() { _ = d.lib.Shutdown() }

// ReadDriver reads the driver in this process, which it may hang or end: it is
// for a child. library is the path of the driver's library; empty: the loader's.
func ReadDriver(library string) (Snapshot, error) {
	d, err := open(library)
	if err != nil {
		return Snapshot{}, err
	}
	defer d.close()
	return d.read()
}

// read asks for everything. What the driver does not say is left out.
func (d *driver) read() (Snapshot, error) {
	s := Snapshot{At: time.Now(), Cards: []Card{}}
	s.Driver, _ = d.lib.SystemGetDriverVersion()
	if v, r := d.lib.SystemGetCudaDriverVersion_v2(); r == nvml.SUCCESS && v > 0 {
		s.CUDA = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	n, r := d.lib.DeviceGetCount()
	if r != nvml.SUCCESS {
		return s, fmt.Errorf("gpu: count the cards: %w", r)
	}
	var handles []nvml.Device
	for i := range n {
		h, r := d.lib.DeviceGetHandleByIndex(i)
		if r != nvml.SUCCESS {
			// Its address is not known either: the bus tells which it is.
			s.Notes = append(s.Notes, fmt.Sprintf("the driver does not give card %d: %s", i, r.Error()))
			continue
		}
		s.Cards = append(s.Cards, d.card(i, h))
		handles = append(handles, h)
	}
	d.link(s.Cards, handles)
	return s, nil
}

// card reads one card.
func (d *driver) card(index int, h nvml.Device) Card {
	c := Card{Index: index}
	if p, r := h.GetPciInfo(); r == nvml.SUCCESS {
		c.PCI = Address(text(p.BusId[:]))
	}
	uuid, r := h.GetUUID()
	if r == nvml.ERROR_GPU_IS_LOST {
		c.Lost = r.Error()
		return c
	}
	c.UUID = uuid
	if c.Name, r = h.GetName(); r == nvml.ERROR_GPU_IS_LOST {
		c.Lost = r.Error()
		return c
	}
	if major, minor, r := h.GetCudaComputeCapability(); r == nvml.SUCCESS {
		c.Capability = fmt.Sprintf("%d.%d", major, minor)
	}
	total, used, r := d.memory(h)
	switch r {
	case nvml.SUCCESS:
		c.MemoryMB, c.Sensors.UsedMB = total, &used
	case nvml.ERROR_NOT_SUPPORTED:
		c.HostMemory = true
	case nvml.ERROR_GPU_IS_LOST:
		c.Lost = r.Error()
		return c
	}
	c.MIG = d.mig(h, c.MemoryMB)
	c.HostMemory = c.HostMemory && (c.MIG == nil || !c.MIG.On)
	c.LinksUp = linksUp(h)
	c.Fabric = d.fabric(h)
	c.State = d.state(h)
	d.sensors(h, &c)
	c.Process = processes(h)
	return c
}

// memory is all of a device's and what is used of it, in MiB.
func (d *driver) memory(h nvml.Device) (total, used int64, r nvml.Return) {
	if d.has("nvmlDeviceGetMemoryInfo_v2") {
		if m, r := h.GetMemoryInfo_v2(); r == nvml.SUCCESS {
			return int64(m.Total >> 20), int64(m.Used >> 20), nvml.SUCCESS
		}
	}
	m, r := h.GetMemoryInfo()
	return int64(m.Total >> 20), int64(m.Used >> 20), r
}

// mostInstances bounds the walk over a card's instances.
const mostInstances = 64

// mig walks over the instances of a card. It asks for nothing that needs a right.
func (d *driver) mig(h nvml.Device, cardMB int64) *MIG {
	now, next, r := h.GetMigMode()
	if r != nvml.SUCCESS {
		return nil
	}
	m := &MIG{On: now == nvml.DEVICE_MIG_ENABLE, Pending: now != next}
	if !m.On {
		return m
	}
	most, r := h.GetMaxMigDeviceCount()
	if r != nvml.SUCCESS {
		return m
	}
	for i := range min(most, mostInstances) {
		in, r := h.GetMigDeviceHandleByIndex(i)
		if r != nvml.SUCCESS {
			continue // there may be holes
		}
		m.Instances = append(m.Instances, d.instance(i, in, cardMB))
	}
	return m
}

func (d *driver) instance(index int, h nvml.Device, cardMB int64) Instance {
	in := Instance{Index: index, Process: processes(h)}
	if u, r := h.GetUUID(); r == nvml.SUCCESS {
		in.UUID = u
	}
	total, used, r := d.memory(h)
	if r == nvml.SUCCESS {
		in.MemoryMB, in.UsedMB = total, &used
	}
	name, _ := h.GetName()
	a, r := h.GetAttributes()
	if r == nvml.SUCCESS && a.MemorySizeMB > 0 {
		in.MemoryMB = int64(a.MemorySizeMB)
	}
	in.Profile = profileOf(name, a.ComputeInstanceSliceCount, a.GpuInstanceSliceCount, in.MemoryMB, cardMB)
	return in
}

// linksUp counts the NVLinks that work; nil: the card has none.
func linksUp(h nvml.Device) *int {
	up, has := 0, false
	for l := range int(nvml.NVLINK_MAX_LINKS) {
		state, r := h.GetNvLinkState(l)
		if r != nvml.SUCCESS {
			break
		}
		has = true
		if state == nvml.FEATURE_ENABLED {
			up++
		}
	}
	if !has {
		return nil
	}
	return &up
}

// link finds which cards reach each other over NVLink, directly or by switches.
func (d *driver) link(cards []Card, handles []nvml.Device) {
	if !d.has("nvmlDeviceGetP2PStatus") {
		return
	}
	linked := func(i int) bool { return cards[i].LinksUp != nil && *cards[i].LinksUp > 0 }
	for i, a := range handles {
		for j, b := range handles {
			if i == j || !linked(i) || !linked(j) {
				continue
			}
			if s, r := a.GetP2PStatus(b, nvml.P2P_CAPS_INDEX_NVLINK); r == nvml.SUCCESS && s == nvml.P2P_STATUS_OK {
				cards[i].Linked = append(cards[i].Linked, cards[j].Index)
			}
		}
	}
}

// fabric asks by the newest call that the driver has. Nil: it is in none.
func (d *driver) fabric(h nvml.Device) *Fabric {
	for _, ask := range []struct {
		symbol string
		call   func() (Fabric, [16]uint8, nvml.Return)
	}{
		{"nvmlDeviceGetGpuFabricInfo_v4", func() (Fabric, [16]uint8, nvml.Return) {
			f, r := h.GetGpuFabricInfo_v4()
			out := Fabric{State: int(f.State), Status: int(f.Status), Health: f.HealthMask}
			for _, q := range f.Cliques[:min(int(f.NumCliques), len(f.Cliques))] {
				if q.Type == nvml.GPU_FABRIC_CLIQUE_TYPE_UNICAST_POINTER {
					out.Clique = q.Id
					break
				}
			}
			return out, f.ClusterUuid, r
		}},
		{"nvmlDeviceGetGpuFabricInfoV", func() (Fabric, [16]uint8, nvml.Return) {
			f, r := h.GetGpuFabricInfoV().V3()
			return Fabric{State: int(f.State), Status: int(f.Status), Clique: f.CliqueId, Health: f.HealthMask}, f.ClusterUuid, r
		}},
		{"nvmlDeviceGetGpuFabricInfoV", func() (Fabric, [16]uint8, nvml.Return) {
			f, r := h.GetGpuFabricInfoV().V2()
			return Fabric{State: int(f.State), Status: int(f.Status), Clique: f.CliqueId, Health: f.HealthMask}, f.ClusterUuid, r
		}},
		{"nvmlDeviceGetGpuFabricInfo", func() (Fabric, [16]uint8, nvml.Return) {
			f, r := h.GetGpuFabricInfo()
			return Fabric{State: int(f.State), Status: int(f.Status), Clique: f.CliqueId}, f.ClusterUuid, r
		}},
	} {
		if !d.has(ask.symbol) {
			continue
		}
		f, cluster, r := ask.call()
		if r != nvml.SUCCESS {
			continue
		}
		if f.State == int(nvml.GPU_FABRIC_STATE_NOT_SUPPORTED) {
			return nil
		}
		f.Cluster = uuid(cluster)
		return &f
	}
	return nil
}

func uuid(b [16]uint8) string {
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// text is a string of C.
func text(b []int8) string {
	var out []byte
	for _, c := range b {
		if c == 0 {
			break
		}
		out = append(out, byte(c))
	}
	return string(out)
}
