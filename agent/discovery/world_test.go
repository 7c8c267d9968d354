package discovery

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a made-up machine: files by path below its root.
type tree map[string]string

// whole is a machine on which every fact is there.
func whole() tree {
	return tree{
		"etc/os-release":                     "NAME=\"Some System\"\nPRETTY_NAME=\"Some System 12 (calm)\"\n",
		"proc/sys/kernel/hostname":           "node-1\n",
		"proc/sys/kernel/osrelease":          "6.1.0-some\n",
		"proc/sys/kernel/random/boot_id":     "11111111-2222-3333-4444-555555555555\n",
		"proc/self/status":                   "Name:\tagent\nCpus_allowed:\tffff\nCpus_allowed_list:\t0-31,64-95\n",
		"proc/self/cgroup":                   "0::/system.slice/agent.service\n",
		"proc/self/mountinfo":                "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 20 8:17 / /big rw - xfs /dev/sdb1 rw\n",
		"proc/cpuinfo":                       "processor\t: 0\nflags\t\t: fpu avx2 fma\n\nprocessor\t: 1\nflags\t\t: fpu avx2 fma\n",
		"proc/meminfo":                       "MemTotal:       263856384 kB\nMemFree:        1 kB\nMemAvailable:   131928192 kB\n",
		"proc/loadavg":                       "1.50 2.25 3.00 2/345 6789\n",
		"proc/stat":                          "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1\n",
		"sys/class/dmi/id/sys_vendor":        "QEMU\n",
		"sys/class/hwmon/hwmon0/name":        "coretemp\n",
		"sys/class/hwmon/hwmon0/temp1_input": "51000\n",
		"sys/class/hwmon/hwmon0/temp2_input": "63500\n",
		"sys/class/hwmon/hwmon1/name":        "board\n",
		"sys/class/hwmon/hwmon1/temp1_input": "24000\n",
		"sys/class/hwmon/hwmon1/temp1_label": "Inlet Temp\n",
		"sys/class/hwmon/hwmon1/temp2_input": "99000\n",
	}
}

// with is the tree with some files changed. An empty one is removed.
func (t tree) with(changes tree) tree {
	out := maps.Clone(t)
	maps.Copy(out, changes)
	maps.DeleteFunc(out, func(_, v string) bool { return v == "" })
	return out
}

// write puts it on disk and gives its root.
func (t tree) write(tb testing.TB) string {
	tb.Helper()
	root := tb.TempDir()
	for name, text := range t {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return root
}

// prober is one that sees the tree, on a processor that has AVX2 and disks of
// 100 GiB with 40 free.
func (t tree) prober(tb testing.TB, change func(*Config)) *Prober {
	tb.Helper()
	root := t.write(tb)
	cfg := Config{Sys: filepath.Join(root, "sys"), Proc: filepath.Join(root, "proc"), Etc: filepath.Join(root, "etc")}
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	p.avx2 = func() bool { return true }
	p.room = func(string) (diskRoom, error) { return diskRoom{total: 100 << 30, free: 40 << 30}, nil }
	return p
}

func contains(list []string, part string) bool {
	for _, s := range list {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}
