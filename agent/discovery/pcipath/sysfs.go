package pcipath

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Resolve finds where a device is, from its folder or a link to it in sysfs.
func Resolve(dir string) (Device, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Device{NUMA: -1}, fmt.Errorf("find the device of %s: %w", dir, err)
	}
	return Device{Chain: chain(real), NUMA: memoryNode(filepath.Join(real, "numa_node"))}, nil
}

// memoryNode reads a number; -1 when there is none.
func memoryNode(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return -1
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// At finds the device with an address below a sysfs root.
func At(sys, address string) (Device, error) {
	if !addressOnly(address) {
		return Device{NUMA: -1}, fmt.Errorf("%q is no address on the PCI bus", address)
	}
	return Resolve(filepath.Join(sys, "bus", "pci", "devices", address))
}

// addressOnly keeps what a driver said from naming another folder.
func addressOnly(s string) bool { return address.MatchString(s) }

// Adapters finds the adapters of a machine that do RDMA, by name, below a sysfs
// root. One that is on no PCI bus (a software adapter) is left out. Where the
// machine has none, or cannot have any, there are none and no error.
func Adapters(sys string) (map[string]Device, error) {
	root := filepath.Join(sys, "class", "infiniband")
	names, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the adapters: %w", err)
	}
	out := map[string]Device{}
	for _, n := range names {
		d, err := Resolve(filepath.Join(root, n.Name(), "device"))
		if err == nil && len(d.Chain) > 0 {
			out[n.Name()] = d
		}
	}
	return out, nil
}
