package gpu

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// BusCard is one NVIDIA GPU as the kernel's files have it.
type BusCard struct {
	PCI string
	// Driver is the kernel module it belongs to. Empty: none.
	Driver string
	// Model and UUID are from the driver's own files. Empty: they do not have it.
	Model, UUID string
	// Listed says that the driver has taken it, for this machine or container to
	// use: it should be in a snapshot.
	Listed bool
	// Dead says that it answers to nothing on the bus. Who asks wakes a card that
	// sleeps, so [Bus] does not.
	Dead bool
}

// BusView is what the kernel's files say about GPUs.
type BusView struct {
	Cards []BusCard
	// Switches are NVSwitches.
	Switches int
	// Module is the version of the kernel's module. Empty: it is not loaded.
	Module string
	// Unmanaged says that there are NVSwitches and that no fabric manager runs. It
	// is only known where all processes of the machine are visible.
	Unmanaged bool
}

// mostRead bounds one of the kernel's files.
const mostRead = 64 << 10

func readText(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostRead))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// version is how a driver's version looks in its own file.
var version = regexp.MustCompile(`\b\d{3,4}\.\d+(?:\.\d+)?\b`)

// Bus reads what the kernel's files say, below the roots of sysfs and procfs. It
// asks no driver. What is not there is left out.
func Bus(sys, proc string) BusView {
	v := BusView{Module: version.FindString(firstLine(readText(filepath.Join(proc, "driver", "nvidia", "version"))))}
	listed, told := listedCards(filepath.Join(proc, "driver", "nvidia", "gpus"))
	root := filepath.Join(sys, "bus", "pci", "devices")
	names, _ := os.ReadDir(root)
	for _, n := range names {
		dir := filepath.Join(root, n.Name())
		if readText(filepath.Join(dir, "vendor")) != "0x10de" {
			continue
		}
		class := readText(filepath.Join(dir, "class"))
		if strings.HasPrefix(class, "0x0680") {
			v.Switches++
		}
		if !strings.HasPrefix(class, "0x0302") && !strings.HasPrefix(class, "0x0300") {
			continue
		}
		c := BusCard{PCI: n.Name(), Driver: linkName(filepath.Join(dir, "driver"))}
		if of, ok := listed[c.PCI]; ok {
			c.Model, c.UUID = of.Model, of.UUID
			delete(listed, c.PCI)
			c.Listed = true
		} else if !told {
			c.Listed = c.Driver == "nvidia"
		}
		v.Cards = append(v.Cards, c)
	}
	for _, c := range listed { // the bus is not visible, or has lost it
		v.Cards = append(v.Cards, c)
	}
	slices.SortFunc(v.Cards, func(a, b BusCard) int { return compareAddress(a.PCI, b.PCI) })
	v.Unmanaged = v.Switches > 0 && whole(proc) && !runs(proc, "nv-fabricmanager")
	return v
}

// whole says that the processes below procfs are those of a machine, and not of a
// container.
func whole(proc string) bool {
	first := readText(filepath.Join(proc, "1", "comm"))
	return first == "systemd" || first == "init"
}

// runs says that a process of that name runs. The kernel keeps 15 letters of it.
func runs(proc, name string) bool {
	names, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "comm"))
	return slices.ContainsFunc(names, func(path string) bool { return readText(path) == name[:min(len(name), 15)] })
}

// listedCards are those that the driver's own files name. In a container they
// are those that it may use. False: there are no such files.
func listedCards(root string) (map[string]BusCard, bool) {
	out := map[string]BusCard{}
	names, err := os.ReadDir(root)
	if err != nil {
		return out, false
	}
	for _, n := range names {
		pci := Address(n.Name())
		c := BusCard{PCI: pci, Listed: true}
		s := bufio.NewScanner(strings.NewReader(readText(filepath.Join(root, n.Name(), "information"))))
		for s.Scan() {
			k, val, _ := strings.Cut(s.Text(), ":")
			switch strings.TrimSpace(k) {
			case "Model":
				c.Model = strings.TrimSpace(val)
			case "GPU UUID":
				if u := strings.TrimSpace(val); !strings.Contains(u, "?") { // unknown as long as nobody opened it
					c.UUID = u
				}
			}
		}
		out[pci] = c
	}
	return out, true
}

// Address writes an address on the bus as sysfs does: "00000000:18:00.0" is
// "0000:18:00.0".
func Address(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	domain, rest, ok := strings.Cut(s, ":")
	if !ok {
		return s
	}
	for len(domain) > 4 && domain[0] == '0' {
		domain = domain[1:]
	}
	return domain + ":" + rest
}

func linkName(path string) string {
	to, err := os.Readlink(path)
	if err != nil {
		return ""
	}
	return filepath.Base(to)
}

// dead says that a device gives nothing but ones, as one that fell off the bus
// does.
func dead(sys, pci string) bool {
	f, err := os.Open(filepath.Join(sys, "bus", "pci", "devices", pci, "config"))
	if err != nil {
		return false
	}
	defer f.Close()
	var b [4]byte
	if _, err := io.ReadFull(f, b[:]); err != nil {
		return false
	}
	return b == [4]byte{0xff, 0xff, 0xff, 0xff}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
