package discovery

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
)

func TestSampleOfAWholeMachine(t *testing.T) {
	t.Parallel()
	hot, inlet := 63.5, 24.0
	want := inventory.Sample{
		Load1: 1.5, Load5: 2.25, Load15: 3,
		MemoryUsedBytes: 131928192 << 10, MemoryTotalBytes: 263856384 << 10,
		CPUTempC: &hot, InletTempC: &inlet,
	}
	if d := cmp.Diff(want, whole().prober(t, nil).Sample(t.Context())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestSampleWithoutSensorsHasNone(t *testing.T) {
	t.Parallel()
	s := whole().with(tree{
		"sys/class/hwmon/hwmon0/temp1_input": "cold", "sys/class/hwmon/hwmon0/temp2_input": "-274000", "sys/class/hwmon/hwmon1/temp1_label": "",
		"proc/loadavg": "x y z", "proc/stat": "cpu x",
	}).prober(t, nil).Sample(t.Context())
	if s.CPUTempC != nil || s.InletTempC != nil || s.CPUPowerW != nil {
		t.Errorf("want no sensors, got %+v", s)
	}
	if s.Load1 != 0 || s.CPUPercent != 0 {
		t.Errorf("want no load from garbled files, got %+v", s)
	}
}

func TestBusyProcessorsAreTheDifferenceOfTwoReadings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stat")
	var m cpuMeter
	for _, c := range []struct {
		line string
		want float64
	}{
		{"cpu  100 0 100 700 100 0 0 0 50 0", 0}, // the first says nothing
		{"cpu  140 0 110 740 110 0 0 0 90 0", 50},
		{"cpu  140 0 110 740 110 0 0 0 90 0", 0}, // no time went by
		{"cpu  240 0 110 740 110 0 0 0 90 0", 100},
		{"cpu  1 0 1 1 1 0 0 0 0 0", 0}, // it began again
		{"cpu  2 0 1 2 1 0 0 0 0 0", 50},
	} {
		if err := os.WriteFile(path, []byte(c.line+"\ncpu0 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := m.read(path); got != c.want {
			t.Errorf("%s: want %v %%, got %v", c.line, c.want, got)
		}
	}
}

func TestPowerIsEnergyOverTime(t *testing.T) {
	t.Parallel()
	root := tree{
		"intel-rapl:0/energy_uj": "1000000", "intel-rapl:0/max_energy_range_uj": "10000000",
		"intel-rapl:1/energy_uj":           "9000000",
		"intel-rapl:1/max_energy_range_uj": "10000000",
		"intel-rapl:0:0/energy_uj":         "5", // a part of package 0
	}.write(t)
	var m powerMeter
	start := time.Unix(1000, 0)
	if got := m.read(root, start); got != nil {
		t.Errorf("first reading: want none, got %v", *got)
	}
	for name, v := range map[string]string{"intel-rapl:0": "5000000", "intel-rapl:1": "1000000", "intel-rapl:0:0": "999"} {
		if err := os.WriteFile(filepath.Join(root, name, "energy_uj"), []byte(v), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// 4 J, and 2 J over the end of the counter, in 2 s.
	if got := m.read(root, start.Add(2*time.Second)); got == nil || *got != 3 {
		t.Errorf("want 3 W, got %v", got)
	}
	if got := m.read(filepath.Join(root, "none"), start.Add(4*time.Second)); got != nil {
		t.Errorf("without counters: want none, got %v", *got)
	}
}

func TestLabelsComeFromThreePlacesAndBadOnesAreLeftOut(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "labels")
	if err := os.WriteFile(file, []byte("# the room\nroom = 7\nrack=r1\nnonsense\nbad key=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := whole().prober(t, func(c *Config) {
		c.Labels = map[string]string{"rack": "r0", "zone": "a"}
		c.LabelsFile, c.LabelList = file, "zone=b, llmgw.io/kind=gpu,"
	})
	f := p.Facts(t.Context())
	want := map[string]string{"room": "7", "rack": "r1", "zone": "b", "llmgw.io/kind": "gpu"}
	if d := cmp.Diff(want, f.Labels); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !contains(f.Warnings, `"nonsense" is no label`) || !contains(f.Warnings, `the label "bad key" is left out`) {
		t.Errorf("want both bad lines named, got %q", f.Warnings)
	}
	gone := whole().prober(t, func(c *Config) {
		c.Labels, c.LabelsFile = map[string]string{"a": "b"}, filepath.Join(t.TempDir(), "gone")
	}).Facts(t.Context())
	if gone.Labels["a"] != "b" || !contains(gone.Warnings, "the labels cannot be found") {
		t.Errorf("without the file: want the others and a warning, got %v and %q", gone.Labels, gone.Warnings)
	}
}
