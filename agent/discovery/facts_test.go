package discovery

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/discovery/ports"
	"llmgw.io/llmgw/inventory"
)

var (
	_ agent.Prober  = (*Prober)(nil)
	_ agent.Scanner = (*ports.Reader)(nil)
)

// onAMD64 skips what only that architecture says.
func onAMD64(t *testing.T) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("this is a rule for amd64")
	}
}

func TestFactsOfAWholeMachine(t *testing.T) {
	t.Parallel()
	p := whole().prober(t, func(c *Config) {
		c.Version, c.MgmtAddr = "1.2.3", "10.0.0.7"
		c.Labels = map[string]string{"zone": "a"}
		c.Engines = func(context.Context) []inventory.Engine { return []inventory.Engine{{Name: "sim"}} }
	})
	want := inventory.Facts{
		Hostname: "node-1", MgmtAddr: "10.0.0.7", AgentVersion: "1.2.3", OS: "Some System 12 (calm)", Kernel: "6.1.0-some",
		Arch: runtime.GOARCH, BootID: "11111111-2222-3333-4444-555555555555", Labels: map[string]string{"zone": "a"},
		CPUFlags: []string{"avx2", "fma"},
		MemoryMB: 257672, CPUs: 64, ReserveMB: 4096, ReserveCPUs: 2,
		Ports:   []inventory.Port{},
		Engines: []inventory.Engine{{Name: "sim"}},
	}
	if d := cmp.Diff(want, p.Facts(t.Context())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Each fact degrades alone: with its file missing or garbled, the others are as
// they were, and one warning says why.
func TestEachFactDegradesAlone(t *testing.T) {
	t.Parallel()
	healthy := whole().prober(t, nil).Facts(t.Context())
	for _, c := range []struct {
		name  string
		spoil tree
		lost  func(*inventory.Facts) // what is not known
		want  string
	}{
		{"no host name", tree{"proc/sys/kernel/hostname": ""}, func(f *inventory.Facts) { f.Hostname = "" }, "the host name cannot be found"},
		{"empty host name", tree{"proc/sys/kernel/hostname": "\n"}, func(f *inventory.Facts) { f.Hostname = "" }, "is empty"},
		{"no system", tree{"etc/os-release": ""}, func(f *inventory.Facts) { f.OS = "" }, "the operating system cannot be found"},
		{"nameless system", tree{"etc/os-release": "X=1\n\x00"}, func(f *inventory.Facts) { f.OS = "" }, "os-release names none"},
		{"no kernel", tree{"proc/sys/kernel/osrelease": ""}, func(f *inventory.Facts) { f.Kernel = "" }, "the kernel's version cannot be found"},
		{"no boot id", tree{"proc/sys/kernel/random/boot_id": ""}, func(f *inventory.Facts) { f.BootID = "" }, "the boot id cannot be found"},
		{"no memory", tree{"proc/meminfo": ""}, func(f *inventory.Facts) { f.MemoryMB, f.ReserveMB = 0, 0 }, "the memory cannot be found"},
		{"garbled memory", tree{"proc/meminfo": "MemTotal: many kB\n"}, func(f *inventory.Facts) { f.MemoryMB, f.ReserveMB = 0, 0 }, "meminfo has no MemTotal"},
		{"no memory at all", tree{"proc/meminfo": "MemTotal: 0 kB\nMemAvailable: 0 kB\n"}, func(f *inventory.Facts) { f.MemoryMB, f.ReserveMB = 0, 0 }, "meminfo has no MemTotal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := whole().with(c.spoil).prober(t, nil).Facts(t.Context())
			if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], c.want) {
				t.Errorf("want one warning with %q, got %q", c.want, got.Warnings)
			}
			want := healthy
			c.lost(&want)
			got.Warnings = nil
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestAnEmptyMachineSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	p := tree{}.prober(t, func(c *Config) { c.WeightsDirs = []string{t.TempDir()} })
	f := p.Facts(t.Context())
	for _, what := range []string{"host name", "operating system", "kernel", "boot id", "memory", "disk"} {
		if !contains(f.Warnings, what) {
			t.Errorf("want a warning about the %s, got %q", what, f.Warnings)
		}
	}
	if f.MemoryMB != 0 || f.DiskTotalMB != 0 || f.Engines != nil {
		t.Errorf("want nothing said of what is not known, got %+v", f)
	}
	if f.CPUs != runtime.NumCPU() {
		t.Errorf("want the runtime's %d processors, got %d", runtime.NumCPU(), f.CPUs)
	}
	p.Sample(t.Context()) // must not panic
}

func TestProcessors(t *testing.T) {
	t.Parallel()
	status := func(list string) string { return "Cpus_allowed_list:\t" + list + "\n" }
	for _, c := range []struct {
		name   string
		change tree
		want   int
	}{
		{"affinity", tree{"proc/self/status": status("0-3,8")}, 5},
		{"quota of the own group", tree{"sys/fs/cgroup/system.slice/agent.service/cpu.max": "1250000 100000\n"}, 12},
		{"no quota", tree{"sys/fs/cgroup/system.slice/agent.service/cpu.max": "max 100000\n"}, 64},
		{"quota of a group above", tree{
			"sys/fs/cgroup/system.slice/agent.service/cpu.max": "max 100000\n",
			"sys/fs/cgroup/system.slice/cpu.max":               "400000 100000\n",
		}, 4},
		{"less than one core", tree{"sys/fs/cgroup/system.slice/cpu.max": "50000 100000\n"}, 1},
		{"quota above what there is", tree{"sys/fs/cgroup/cpu.max": "9900000 100000\n"}, 64},
		{"garbled quota", tree{"sys/fs/cgroup/cpu.max": "lots\n"}, 64},
		{"version 1", tree{
			"proc/self/cgroup": "4:cpu,cpuacct:/a\n0::/\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "200000", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000",
		}, 2},
		{"version 1 without", tree{
			"proc/self/cgroup":                    "4:cpu:/a\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "-1",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
		}, 64},
		{"garbled affinity", tree{"proc/self/status": status("0-x")}, runtime.NumCPU()},
		{"backward affinity", tree{"proc/self/status": status("3-0")}, runtime.NumCPU()},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := whole().with(c.change).prober(t, nil).Facts(t.Context()).CPUs; got != c.want {
				t.Errorf("want %d, got %d", c.want, got)
			}
		})
	}
}

func TestMemoryIsWhatTheCgroupLeaves(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]tree{
		"version 2": {"sys/fs/cgroup/system.slice/memory.max": "1073741824\n", "sys/fs/cgroup/system.slice/agent.service/memory.max": "max\n"},
		"version 1, path of the host": {
			"proc/self/cgroup":                           "4:memory:/docker/abc\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
		},
	} {
		p := whole().with(change).prober(t, nil)
		f := p.Facts(t.Context())
		if f.MemoryMB != 1024 || !contains(f.Warnings, "1024 of 257672 MiB") {
			t.Errorf("%s: want 1024 MiB and a warning, got %d and %q", name, f.MemoryMB, f.Warnings)
		}
		if f.ReserveMB != 51 {
			t.Errorf("%s: want a reserve of that memory, got %d", name, f.ReserveMB)
		}
		if s := p.Sample(t.Context()); s.MemoryTotalBytes != 1<<30 || s.MemoryUsedBytes > s.MemoryTotalBytes {
			t.Errorf("%s: want the sample within it, got %+v", name, s)
		}
	}
	unlimited := whole().with(tree{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"})
	if f := unlimited.prober(t, nil).Facts(t.Context()); f.MemoryMB != 257672 || len(f.Warnings) != 0 {
		t.Errorf("a limit above all there is: want none, got %d and %q", f.MemoryMB, f.Warnings)
	}
}

func TestReserveIsTheSmallerOrTheGiven(t *testing.T) {
	t.Parallel()
	small := whole().with(tree{"proc/meminfo": "MemTotal: 8388608 kB\nMemAvailable: 1 kB\n", "proc/self/status": "Cpus_allowed_list:\t0-7\n"})
	if f := small.prober(t, nil).Facts(t.Context()); f.ReserveMB != 409 || f.ReserveCPUs != 1 {
		t.Errorf("8 GiB and 8 cores: want 409 MiB and 1 core, got %d and %d", f.ReserveMB, f.ReserveCPUs)
	}
	given := small.prober(t, func(c *Config) { c.ReserveMB, c.ReserveCPUs = 1000, 3 })
	if f := given.Facts(t.Context()); f.ReserveMB != 1000 || f.ReserveCPUs != 3 {
		t.Errorf("want what was given, got %d and %d", f.ReserveMB, f.ReserveCPUs)
	}
}

func TestWarningsOfASlowMachine(t *testing.T) {
	t.Parallel()
	onAMD64(t)
	p := whole().with(tree{"proc/cpuinfo": "flags : fpu hypervisor\n"}).prober(t, nil)
	p.avx2 = func() bool { return false }
	got := p.Facts(t.Context()).Warnings
	if !contains(got, "no AVX2") || !contains(got, "virtual (QEMU)") {
		t.Errorf("want warnings about AVX2 and about the virtual machine, got %q", got)
	}
}

func TestCardsThatThisBuildCannotReadAreNamed(t *testing.T) {
	t.Parallel()
	dev := "sys/bus/pci/devices/0000:01:00."
	p := whole().with(tree{
		dev + "0/vendor": "0x10de\n", dev + "0/class": "0x030200\n",
		dev + "1/vendor": "0x10de\n", dev + "1/class": "0x040300\n", // its sound
		dev + "2/vendor": "0x8086\n", dev + "2/class": "0x030000\n",
	}).prober(t, nil)
	f := p.Facts(t.Context())
	if len(f.Devices) != 0 || !contains(f.Warnings, "1 NVIDIA GPUs are on the bus") {
		t.Errorf("want no devices and a warning about one card, got %v and %q", f.Devices, f.Warnings)
	}
}

func TestManagementAddressIsTheWayToTheControlPlane(t *testing.T) {
	t.Parallel()
	for _, toward := range []string{"127.0.0.1:7443", "127.0.0.1"} {
		f := whole().prober(t, func(c *Config) { c.Toward = toward }).Facts(t.Context())
		if f.MgmtAddr != "127.0.0.1" || len(f.Warnings) != 0 {
			t.Errorf("toward %s: want 127.0.0.1, got %q and %q", toward, f.MgmtAddr, f.Warnings)
		}
	}
	f := whole().prober(t, func(c *Config) { c.Toward = "no where" }).Facts(t.Context())
	if f.MgmtAddr != "" || !contains(f.Warnings, "the management address cannot be found") {
		t.Errorf("want a warning, got %q and %q", f.MgmtAddr, f.Warnings)
	}
}

func TestConfigIsCheckedAsAWhole(t *testing.T) {
	t.Parallel()
	_, err := New(Config{WeightsDirs: []string{"w"}, ReserveMB: -1})
	if err == nil || !strings.Contains(err.Error(), `"w"`) || !strings.Contains(err.Error(), "negative") {
		t.Errorf("want both complaints, got %v", err)
	}
}
