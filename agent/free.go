package agent

import (
	"context"
	"fmt"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// awaitMemory waits until the devices of a shard, which no other shard has any
// more, really have the memory that it was given: a driver takes memory back some
// time after the process has ended, and keeps that of one that hangs in it.
func (s *shard) awaitMemory(ctx context.Context, d protocol.DesiredShard) error {
	prober, ok := s.a.cfg.Prober.(DeviceMemory)
	if !ok || len(d.Devices) == 0 {
		return nil
	}
	limit := s.a.cfg.Times.DeviceFree
	late := time.NewTimer(limit)
	defer late.Stop()
	for told := ""; ; {
		used, err := s.a.usedMemory(ctx, prober)
		facts, _ := s.a.facts.current()
		full := ""
		if err == nil {
			full = lacksMemory(d.Devices, facts.Devices, used)
		}
		if full == "" || ctx.Err() != nil {
			return ctx.Err()
		}
		if full != told {
			told = full
			s.log.Info("shard waits for its devices' memory", "devices", full)
			s.say(inventory.ShardPending, func(st *inventory.ShardStatus) {
				st.Error = fmt.Sprintf("It waits for memory that no shard has any more: %s.", full)
			})
		}
		select {
		case <-late.C:
			return failed(protocol.CauseMemory, fmt.Sprintf("%s, %s after the last shard left; see with nvidia-smi who has it: another program, which must end, or a process that hangs in the driver, for which only a reset of the device or a restart of the machine helps", full, limit))
		case <-ctx.Done():
		case <-s.kick:
		case <-time.After(2 * s.a.cfg.Times.Look):
		}
	}
}

// usedMemory asks the Prober, never at once with its other questions.
func (a *Agent) usedMemory(ctx context.Context, prober DeviceMemory) (map[int]int64, error) {
	if !a.facts.begin(ctx) {
		return nil, ctx.Err()
	}
	defer a.facts.end()
	return prober.Used(ctx)
}

// lacksMemory says which of the devices has less free than the shard was given of
// it. Empty: none. What other programs were known to have when it was placed is
// not part of a whole device.
func lacksMemory(shares []inventory.DeviceShare, devices []inventory.Device, used map[int]int64) string {
	for _, share := range shares {
		for _, d := range devices {
			inUse, said := used[d.Index]
			if d.Index != share.Index || !said || d.MemoryMB == 0 {
				continue
			}
			needs := share.MemoryMB
			if needs == 0 {
				needs = d.MemoryMB - d.ForeignMB
			}
			// Drivers keep something for themselves, and shares are counted in whole GiB.
			if slack := min(2048, d.MemoryMB/10); d.MemoryMB-inUse+slack < needs {
				return fmt.Sprintf("device %d has %d of %d MiB in use, and the shard was given %d", d.Index, inUse, d.MemoryMB, needs)
			}
		}
	}
	return ""
}
