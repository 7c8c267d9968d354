package ports

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/inventory"
)

const (
	// mostFile is how much of one of the kernel's files is read; none is longer.
	mostFile = 64 << 10
	// mostPorts and mostGIDs bound what one adapter may have.
	mostPorts = 64
	mostGIDs  = 1024
)

// What the kernel calls link layers and states that mean something here.
const (
	layerInfiniBand = "InfiniBand"
	layerEthernet   = "Ethernet"
	stateActive     = "ACTIVE"
	stateInit       = "INIT"
	physUp          = "LinkUp"
)

// adapter is one that the kernel lists.
type adapter struct {
	name string
	// at is its folder, device the resolved one of its bus; empty: it has none.
	at, device string
	ports      []int
}

var (
	pciAddress = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
	pciRoot    = regexp.MustCompile(`^pci([0-9a-f]{4,8}:[0-9a-f]{2})$`)
)

// read gives a small file without the white space around it. Many of these files
// answer a read with an error instead of a value.
func read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", plain(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostFile))
	if err != nil {
		return "", plain(err)
	}
	return string(bytes.TrimSpace(b)), nil
}

// plain takes the path out of an error about a file, and leaves its name: the
// sentence says what it is of.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", filepath.Base(e.Path), e.Err)
	}
	return err
}

// word is read for a file whose value is worth nothing when it cannot be read.
func word(path string) string {
	s, _ := read(path)
	return s
}

// adapters lists those that are not excluded, ordered by name. A kernel without
// any has no folder for them; one whose files are not there at all says nothing.
func (r *Reader) adapters() ([]adapter, error) {
	entries, err := os.ReadDir(r.sys("class/infiniband"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(r.sys("class")); err != nil {
			return nil, fmt.Errorf("%s is not there; mount the host's sysfs and name it", r.sys("class"))
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []adapter
	for _, e := range entries {
		if r.excluded(e.Name()) {
			continue
		}
		a := adapter{name: e.Name(), at: r.sys(path.Join("class/infiniband", e.Name()))}
		if dir, err := filepath.EvalSymlinks(filepath.Join(a.at, "device")); err == nil {
			a.device = dir
		}
		ports, _ := os.ReadDir(filepath.Join(a.at, "ports"))
		for _, p := range ports {
			if n, err := strconv.Atoi(p.Name()); err == nil && n >= 0 && len(a.ports) < mostPorts {
				a.ports = append(a.ports, n)
			}
		}
		slices.Sort(a.ports)
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b adapter) int { return cmp.Compare(a.name, b.name) })
	return out, nil
}

func (r *Reader) excluded(name string) bool {
	return slices.ContainsFunc(r.cfg.Exclude, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// port reads one. The error is about its state, without which the rest is of
// little use; anything else that is missing is left out.
func (r *Reader) port(a adapter, n int) (inventory.Port, error) {
	at := filepath.Join(a.at, "ports", strconv.Itoa(n))
	p := inventory.Port{HCA: a.name, Port: n, LinkLayer: word(filepath.Join(at, "link_layer"))}
	state, err := read(filepath.Join(at, "state"))
	p.State, p.PhysState = named(state), named(word(filepath.Join(at, "phys_state")))
	// A port may not say how its link is; one that is active has one.
	p.Active = p.State == stateActive && (p.PhysState == physUp || p.PhysState == "")
	if p.Active { // what a port prints that is down is a fiction
		p.RateGbps = rate(word(filepath.Join(at, "rate")))
	}
	p.NodeGUID = guid(word(filepath.Join(a.at, "node_guid")))
	p.PCI, p.PCIRoot = bus(a.device)
	if n, err := strconv.Atoi(word(filepath.Join(a.device, "numa_node"))); err == nil && n >= 0 && a.device != "" {
		p.NUMA = &n
	}
	if p.LinkLayer == layerInfiniBand {
		p.LID, p.SMLID = lid(word(filepath.Join(at, "lid"))), lid(word(filepath.Join(at, "sm_lid")))
		if gid := strings.ReplaceAll(word(filepath.Join(at, "gids/0")), ":", ""); len(gid) == 32 {
			p.PortGUID = guid(gid[16:]) // the second half of the first one is the port's own
		}
	}
	return p, err
}

// named takes the number off "4: ACTIVE".
func named(s string) string {
	if _, name, ok := strings.Cut(s, ":"); ok {
		return strings.TrimSpace(name)
	}
	return s
}

// rate reads "400 Gb/sec (4X NDR)". Zero: unknown.
func rate(s string) int {
	number, _, _ := strings.Cut(s, " ")
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f > 0 && f < 1e6) {
		return 0
	}
	return int(math.Round(f))
}

// guid gives 16 lower-case hex digits of "e09d:7303:0015:6ff6" or of
// "0xe09d730300156ff6". Empty: there is none, or it is not set.
func guid(s string) string {
	s = strings.TrimPrefix(strings.ToLower(strings.ReplaceAll(s, ":", "")), "0x")
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || n == 0 || n == math.MaxUint64 {
		return ""
	}
	return fmt.Sprintf("%016x", n)
}

// lid reads "0x28b". Zero: unset.
func lid(s string) int {
	n, err := strconv.ParseUint(s, 0, 32)
	if err != nil || n == 0xffff {
		return 0
	}
	return int(n)
}

// bus finds the address on the bus and its root in a resolved path. Bridges of
// some hosts nest a second root: the last one is the device's.
func bus(device string) (address, root string) {
	for part := range strings.SplitSeq(filepath.ToSlash(device), "/") {
		if m := pciRoot.FindStringSubmatch(part); m != nil {
			root = m[1]
		}
		address = part
	}
	if !pciAddress.MatchString(address) {
		return "", ""
	}
	return address, root
}
