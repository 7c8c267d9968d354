package discovery

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
)

// cpuChips are the drivers of processors' sensors.
var cpuChips = []string{"coretemp", "k10temp", "zenpower", "cpu_thermal", "scpi_sensors"}

// sensors fills in what the board measures. A virtual machine has none of it.
func (p *Prober) sensors(s *inventory.Sample) {
	s.CPUTempC, s.InletTempC = p.temperatures()
	s.CPUPowerW = p.rapl.read(p.sys("class/powercap"), time.Now())
}

// temperatures gives the hottest processor sensor and the inlet's.
func (p *Prober) temperatures() (cpu, inlet *float64) {
	inputs, _ := filepath.Glob(p.sys("class/hwmon/hwmon*/temp*_input"))
	for _, path := range inputs {
		milli, err := readInt(path)
		if err != nil {
			continue
		}
		c := float64(milli) / 1000
		if c < -50 || c > 150 {
			continue // a sensor that is not connected
		}
		label, _ := read(strings.TrimSuffix(path, "_input") + "_label")
		chip, _ := read(filepath.Join(filepath.Dir(path), "name"))
		switch {
		case strings.Contains(strings.ToLower(label), "inlet"):
			inlet = &c
		case slices.Contains(cpuChips, chip) && (cpu == nil || c > *cpu):
			cpu = &c
		}
	}
	return cpu, inlet
}

// powerMeter tells from two readings of energy how much power the processors
// used in between.
type powerMeter struct {
	joules map[string]float64
	at     time.Time
}

// read gives the watts since the last reading, of all packages. Nil at the first
// one, and where the counters are not there or not for us to read.
func (m *powerMeter) read(root string, now time.Time) *float64 {
	zones, _ := filepath.Glob(filepath.Join(root, "intel-rapl:*"))
	joules := map[string]float64{}
	var sum float64
	known := 0
	for _, zone := range zones {
		if strings.Count(filepath.Base(zone), ":") != 1 {
			continue // a part of a package, which has it already
		}
		micro, err := readInt(filepath.Join(zone, "energy_uj"))
		if err != nil {
			continue
		}
		joules[zone] = float64(micro) / 1e6
		was, ok := m.joules[zone]
		if !ok {
			continue
		}
		used := joules[zone] - was
		if used < 0 { // the counter began again
			whole, err := readInt(filepath.Join(zone, "max_energy_range_uj"))
			if err != nil {
				continue
			}
			used += float64(whole) / 1e6
		}
		sum += used
		known++
	}
	span := now.Sub(m.at).Seconds()
	m.joules, m.at = joules, now
	if known == 0 || span <= 0 {
		return nil
	}
	watts := sum / span
	return &watts
}
