package discovery

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// memory is the machine's, or what the agent's cgroup may use of it when that is
// less: engines are in the same.
func (p *Prober) memory(_ context.Context, f *inventory.Facts) error {
	total, _, err := p.meminfo()
	if err != nil {
		return err
	}
	f.MemoryMB = total >> 20
	if limit, limited := p.memoryLimit(); limited && limit < total {
		f.MemoryMB = limit >> 20
		f.Warnings = append(f.Warnings, fmt.Sprintf("the agent's cgroup may use %d of %d MiB of memory", f.MemoryMB, total>>20))
	}
	return nil
}

// memoryUse gives what is used and what there is; zeros where it is not known.
func (p *Prober) memoryUse() (used, total int64) {
	total, available, err := p.meminfo()
	if err != nil {
		return 0, 0
	}
	used = max(0, total-available)
	if limit, limited := p.memoryLimit(); limited && limit < total {
		total, used = limit, min(used, limit)
	}
	return used, total
}

func (p *Prober) meminfo() (total, available int64, err error) {
	text, err := read(p.proc("meminfo"))
	if err != nil {
		return 0, 0, err
	}
	for _, want := range []struct {
		key string
		to  *int64
	}{{"MemTotal", &total}, {"MemAvailable", &available}} {
		v, _ := keyed(text, want.key, ":")
		kb, err := strconv.ParseInt(strings.TrimSuffix(v, " kB"), 10, 64)
		if err != nil || kb < 0 || kb > 1<<50 {
			return 0, 0, fmt.Errorf("meminfo has no %s", want.key)
		}
		*want.to = kb << 10
	}
	if total == 0 {
		return 0, 0, fmt.Errorf("meminfo has no MemTotal")
	}
	return total, available, nil
}

// memoryLimit is the least limit on the way from the agent's cgroup up.
func (p *Prober) memoryLimit() (bytes int64, limited bool) {
	for _, dir := range p.cgroups("memory") {
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			// "max" is no number; version 1 says none by a very large one, which
			// is never less than the machine has.
			if n, err := readInt(dir + "/" + name); err == nil && n > 0 && (!limited || n < bytes) {
				bytes, limited = n, true
			}
		}
	}
	return bytes, limited
}
