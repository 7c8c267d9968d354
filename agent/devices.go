package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// claims are the devices that engines of this machine hold, by shard: from before
// an engine is started until it is known to be gone. While nobody hears a node its
// room may be given on, and the list that comes then names another shard of a
// device whose engine still has requests in it. Two engines of one device would
// both fail for want of memory, so the second waits.
type claims struct {
	mu   sync.Mutex
	held map[string][]inventory.DeviceShare
}

// keep notes what is held already, whatever else is.
func (c *claims) keep(shard string, devices []inventory.DeviceShare) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = map[string][]inventory.DeviceShare{}
	}
	c.held[shard] = devices
}

// take claims devices for a shard, all or none. memory is what each has in MiB;
// one that is not there has no known limit. holder is the shard that is in the
// way; empty: they are the shard's now.
func (c *claims) take(shard string, devices []inventory.DeviceShare, memory map[int]int64) (holder string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range devices {
		free, limited := memory[d.Index]
		for _, id := range slices.Sorted(maps.Keys(c.held)) {
			if id == shard {
				continue
			}
			for _, o := range c.held[id] {
				if o.Index != d.Index {
					continue
				}
				free -= o.MemoryMB
				if o.MemoryMB == 0 || d.MemoryMB == 0 || limited && free < d.MemoryMB {
					return id
				}
			}
		}
	}
	if c.held == nil {
		c.held = map[string][]inventory.DeviceShare{}
	}
	c.held[shard] = devices
	return ""
}

// drop gives up what a shard holds, once its engine is gone.
func (c *claims) drop(shard string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, shard)
}

// leaveDevices lets the next shard have the devices, when no engine holds them.
func (s *shard) leaveDevices() {
	if s.proc == nil {
		s.a.claims.drop(s.id)
	}
}

// claimDevices waits until the shard's devices are left by those before it.
func (s *shard) claimDevices(ctx context.Context, d protocol.DesiredShard) error {
	for told := ""; ; {
		holder := s.a.claims.take(s.id, d.Devices, s.a.deviceMemory())
		if holder == "" {
			return nil
		}
		if holder != told {
			told = holder
			s.log.Info("shard waits for its devices", "holder", holder)
			s.say(inventory.ShardPending, func(st *inventory.ShardStatus) {
				st.Error = fmt.Sprintf("It waits for shard %s, whose engine is not gone from its devices yet.", holder)
			})
		}
		s.wait(ctx, time.After(s.a.cfg.Times.Look))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// deviceMemory is what each device has for engines, in MiB, where that is known.
func (a *Agent) deviceMemory() map[int]int64 {
	facts, _ := a.facts.current()
	out := make(map[int]int64, len(facts.Devices))
	for _, d := range facts.Devices {
		if d.MemoryMB > 0 {
			out[d.Index] = d.MemoryMB - d.ForeignMB
		}
	}
	return out
}
