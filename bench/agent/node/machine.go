package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cards and fabricPorts are what the machine has.
const (
	cards       = 8
	fabricPorts = 9
)

// machine writes what a kernel says of one with eight cards and nine ports, and
// gives the agent's configuration for it.
func machine(ctx context.Context, root string) (config string, err error) {
	files := map[string]string{
		"etc/os-release":                 "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n",
		"proc/sys/kernel/hostname":       "rest\n",
		"proc/sys/kernel/osrelease":      "6.12.0-18-amd64\n",
		"proc/sys/kernel/random/boot_id": "11111111-2222-3333-4444-555555555555\n",
		"proc/self/status":               "Name:\tagent\nCpus_allowed_list:\t0-191\n",
		"proc/self/cgroup":               "0::/system.slice/llmgw-agent.service\n",
		"proc/self/mountinfo":            "20 1 8:1 / / rw - ext4 /dev/md0 rw\n",
		"proc/cpuinfo":                   strings.Repeat("processor\t: 0\nflags\t\t: fpu avx2 avx512f amx_int8\n\n", 192),
		"proc/meminfo":                   "MemTotal:       2113929216 kB\nMemFree:        1 kB\nMemAvailable:   1913929216 kB\n",
		"proc/loadavg":                   "20.50 21.25 22.00 2/3450 6789\n",
		"proc/stat":                      "cpu  100 0 100 700 100 0 0 0 0 0\n",
		"proc/driver/nvidia/version":     "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.10.05  Release Build\n",
		"sys/class/dmi/id/sys_vendor":    "Maker\n",
		"sys/class/hwmon/hwmon0/name":    "coretemp\n",
	}
	for i := range 64 {
		files[fmt.Sprintf("sys/class/hwmon/hwmon0/temp%d_input", i+1)] = "51000\n"
	}
	for i := range cards {
		card(files, i)
	}
	for i := range fabricPorts {
		port(files, i)
	}
	for name, text := range files {
		if err := write(filepath.Join(root, name), text); err != nil {
			return "", err
		}
	}
	lib := filepath.Join(root, "libnvidia-ml.so.1")
	out, err := exec.CommandContext(ctx, "gcc", "-shared", "-fPIC", "-w", fmt.Sprintf("-DCARDS=%d", cards), "-o", lib,
		"agent/discovery/gpu/testdata/fakelib/fake.c").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("compile the stand-in for the driver's library, from the root of the repository: %w: %s", err, out)
	}
	return fmt.Sprintf("sys: %[1]s/sys\nproc: %[1]s/proc\ndev: %[1]s/dev\netc: %[1]s/etc\nnvml: %s\n", root, lib), nil
}

// slot is where a device is on the bus: cards and ports in pairs below a switch.
func slot(i, function int) (address, path string) {
	address = fmt.Sprintf("0000:%02x:00.%d", 0x1a+i, function)
	return address, fmt.Sprintf("devices/pci0000:%02x/0000:%02x:01.0/%s", 0x15+i/4, 0x15+i/4, address)
}

// card is the i-th card, as the stand-in for the driver numbers them.
func card(files map[string]string, i int) {
	address, path := slot(i, 0)
	files["sys/"+path+"/vendor"], files["sys/"+path+"/class"] = "0x10de\n", "0x030200\n"
	files["sys/"+path+"/numa_node"] = fmt.Sprintf("%d\n", i/4)
	files["sys/bus/pci/devices/"+address] = "->../../../" + path
	files["proc/driver/nvidia/gpus/"+address+"/information"] = fmt.Sprintf("Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-%08d-0000-0000-0000-000000000000\n", i)
}

// port is an adapter with one port that is up; the last one speaks RoCE.
func port(files map[string]string, i int) {
	address, path := slot(i, 1)
	hca := fmt.Sprintf("sys/class/infiniband/mlx5_%d/", i)
	at := hca + "ports/1/"
	files["sys/"+path+"/numa_node"] = fmt.Sprintf("%d\n", i/5)
	files["sys/bus/pci/devices/"+address] = "->../../../" + path
	for name, text := range map[string]string{
		hca + "node_guid": fmt.Sprintf("e09d:7303:0015:6f%02x\n", i), hca + "node_type": "1: CA\n", hca + "device": "->../../../" + path,
		at + "state": "4: ACTIVE\n", at + "phys_state": "5: LinkUp\n", at + "rate": "400 Gb/sec (4X NDR)\n", at + "link_layer": "InfiniBand\n",
		at + "lid": fmt.Sprintf("0x1%d\n", i), at + "sm_lid": "0x1\n", at + "gids/0": fmt.Sprintf("fe80:0000:0000:0000:e09d:7303:0015:7f%02x\n", i),
	} {
		files[name] = text
	}
	if i == fabricPorts-1 {
		files[at+"link_layer"], files[at+"lid"], files[at+"sm_lid"] = "Ethernet\n", "0x0\n", "0x0\n"
	}
	for _, c := range []string{
		"port_xmit_data", "port_rcv_data", "symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors", "port_xmit_discards",
		"port_rcv_remote_physical_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors", "port_xmit_wait",
	} {
		files[at+"counters/"+c] = "1000\n"
	}
	for _, c := range []string{"out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "rx_write_requests"} {
		files[at+"hw_counters/"+c] = "3\n"
	}
}

// write makes a file, or a link where the text begins with an arrow.
func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if target, link := strings.CutPrefix(text, "->"); link {
		return os.Symlink(target, path)
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
