package discovery

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"llmgw.io/llmgw/inventory"
)

// processors counts those that the agent, and so its engines, may use: its
// affinity, and the quota of its cgroup rounded down. More than that would be
// given out and never had.
func (p *Prober) processors(_ context.Context, f *inventory.Facts) error {
	allowed, err := p.affinity()
	if err != nil {
		// The runtime asks the same of the kernel, where it can.
		allowed = runtime.NumCPU()
		if runtime.GOOS == "linux" {
			f.Warnings = append(f.Warnings, fmt.Sprintf("the processors are counted without their files: %v", err))
		}
	}
	f.CPUs = allowed
	if quota, limited := p.cpuQuota(); limited && max(1, int(quota)) < allowed {
		f.CPUs = max(1, int(quota))
		f.Warnings = append(f.Warnings, fmt.Sprintf("the agent's cgroup may use %d of %d processors", f.CPUs, allowed))
	}
	return nil
}

func (p *Prober) affinity() (int, error) {
	text, err := read(p.proc("self/status"))
	if err != nil {
		return 0, err
	}
	list, ok := keyed(text, "Cpus_allowed_list", ":")
	if !ok {
		return 0, errors.New("status has no Cpus_allowed_list")
	}
	return countList(list)
}

// countList counts the members of a list like "0-3,8".
func countList(list string) (int, error) {
	total := 0
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a || b > 1<<20 {
			return 0, fmt.Errorf("%q is no list of processors", list)
		}
		total += b - a + 1
	}
	return total, nil
}

// cpuQuota is the least quota on the way from the agent's cgroup up, in cores.
func (p *Prober) cpuQuota() (cores float64, limited bool) {
	take := func(quota, period string) {
		q, err1 := strconv.ParseFloat(quota, 64)
		per, err2 := strconv.ParseFloat(period, 64)
		if err1 != nil || err2 != nil || q <= 0 || per <= 0 {
			return // "max", or -1: none
		}
		if c := q / per; !limited || c < cores {
			cores, limited = c, true
		}
	}
	for _, dir := range p.cgroups("cpu") {
		if s, err := read(dir + "/cpu.max"); err == nil {
			quota, period, _ := strings.Cut(s, " ")
			take(quota, period)
		}
		quota, err1 := read(dir + "/cpu.cfs_quota_us")
		period, err2 := read(dir + "/cpu.cfs_period_us")
		if err1 == nil && err2 == nil {
			take(quota, period)
		}
	}
	return cores, limited
}

// instructions warns about a processor on which inference is very slow.
func (p *Prober) instructions(_ context.Context, f *inventory.Facts) error {
	if f.Arch == "amd64" && !p.avx2() {
		f.Warnings = append(f.Warnings, "the processor has no AVX2, or the machine hides it: models on CPUs run several times slower than they could")
	}
	return nil
}

func hasAVX2() bool { return cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3) }

// load gives the load averages; zeros where they are not known.
func (p *Prober) load() (one, five, fifteen float64) {
	text, err := read(p.proc("loadavg"))
	if err != nil {
		return 0, 0, 0
	}
	var v [3]float64
	for i, s := range strings.Fields(text) {
		if i == len(v) {
			break
		}
		if v[i], err = strconv.ParseFloat(s, 64); err != nil {
			return 0, 0, 0
		}
	}
	return v[0], v[1], v[2]
}

// cpuMeter tells from two readings how busy the processors were in between.
type cpuMeter struct {
	busy, total uint64
	started     bool
}

// read gives the percentage since the last reading. The first one has none.
func (m *cpuMeter) read(path string) float64 {
	text, err := read(path)
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[0] != "cpu" {
		return 0
	}
	// user nice system idle iowait irq softirq steal; guests are in user already.
	var total, idle uint64
	for i, s := range fields[1:min(len(fields), 9)] {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0
		}
		total += n
		if i == 3 || i == 4 {
			idle += n
		}
	}
	was := *m
	*m = cpuMeter{busy: total - idle, total: total, started: true}
	if !was.started || total <= was.total || m.busy < was.busy {
		return 0
	}
	return min(100, 100*float64(m.busy-was.busy)/float64(total-was.total))
}
