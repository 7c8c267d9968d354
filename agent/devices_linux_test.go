package agent_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// TestDevicesHaveOneOwner gives a device on while the engine that had it still
// answers a request: the next one waits until it is gone, also when the agent is
// another one meanwhile.
func TestDevicesHaveOneOwner(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	var running atomic.Int64
	running.Store(1)
	cfg.Engines = []agent.Engine{&agenttest.Toy{Engine: agenttest.Engine{UseFunc: func(context.Context, protocol.Endpoint) (protocol.Use, error) {
		return protocol.Use{Running: int(running.Load())}, nil
	}}}}
	stop := run(t, cfg)
	words := map[string]string{"old": "old-" + t.TempDir(), "next": "next-" + t.TempDir(), "other": "other-" + t.TempDir()}
	shard := func(name string, devices ...inventory.DeviceShare) protocol.DesiredShard {
		s := shardOf(name+"-1.0", map[string]string{"TOY_SAY": words[name]})
		s.Devices, s.DrainTimeout = devices, time.Hour
		return s
	}
	p.order(shard("old", inventory.DeviceShare{Index: 1}))
	p.wait(t, "old-1.0", inventory.ShardReady)

	next := shard("next", inventory.DeviceShare{Index: 1})
	p.order(next, shard("other", inventory.DeviceShare{Index: 2}))
	waits := func() bool { return strings.Contains(p.status("next-1.0").Error, "waits for shard old-1.0") }
	until(t, "next waits", waits)
	p.wait(t, "other-1.0", inventory.ShardReady)
	if len(processes(words["next"])) > 0 {
		t.Error("two engines run on one device")
	}

	stop()
	run(t, cfg)
	p.clear(t)
	until(t, "next waits for what the new agent adopted", waits)
	if len(processes(words["next"])) > 0 {
		t.Error("after the agent's restart, two engines run on one device")
	}
	running.Store(0)
	p.wait(t, "next-1.0", inventory.ShardReady)
	if len(processes(words["old"])) > 0 {
		t.Error("next runs, and so does the old one")
	}
}

// TestSharedDevicesAreNotOverbooked lets shards share a device for as long as its
// memory lasts.
func TestSharedDevicesAreNotOverbooked(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	cfg.Prober = &agenttest.Prober{FactsFunc: func(context.Context) inventory.Facts {
		f := agenttest.DefaultFacts()
		f.Devices = []inventory.Device{{Index: 0, MemoryMB: 1000, ForeignMB: 100}}
		return f
	}}
	var running atomic.Int64
	running.Store(1)
	cfg.Engines = []agent.Engine{&agenttest.Toy{Engine: agenttest.Engine{UseFunc: func(context.Context, protocol.Endpoint) (protocol.Use, error) {
		return protocol.Use{Running: int(running.Load())}, nil
	}}}}
	run(t, cfg)
	p.clear(t)
	shard := func(id string, mb int64) protocol.DesiredShard {
		s := shardOf(id, nil)
		s.Devices, s.DrainTimeout = []inventory.DeviceShare{{Index: 0, MemoryMB: mb}}, time.Hour
		return s
	}
	p.order(shard("a-1.0", 400), shard("b-1.0", 500))
	p.wait(t, "a-1.0", inventory.ShardReady)
	p.wait(t, "b-1.0", inventory.ShardReady)
	p.order(shard("a-1.0", 400), shard("c-1.0", 300))
	until(t, "c waits", func() bool { return strings.Contains(p.status("c-1.0").Error, "waits for shard b-1.0") })
	running.Store(0)
	p.wait(t, "c-1.0", inventory.ShardReady)
}

// TestDeviceMemoryIsAwaited has a device that keeps the memory of an engine that
// has ended (mostlygeek/llama-swap#97), for a while and for ever.
func TestDeviceMemoryIsAwaited(t *testing.T) {
	t.Parallel()
	device := func(cfg *agent.Config, used *atomic.Int64) {
		cfg.Prober = &agenttest.Prober{
			FactsFunc: func(context.Context) inventory.Facts {
				f := agenttest.DefaultFacts()
				f.Devices = []inventory.Device{{Index: 0, MemoryMB: 24576}}
				return f
			},
			UsedFunc: func(context.Context) (map[int]int64, error) { return map[int]int64{0: used.Load()}, nil },
		}
	}
	t.Run("for a while", func(t *testing.T) {
		t.Parallel()
		p := newPlane()
		cfg := config(t, p)
		var used atomic.Int64
		device(&cfg, &used)
		run(t, cfg)
		p.clear(t)
		words := map[string]string{"a-1.0": "a-" + t.TempDir(), "b-1.0": "b-" + t.TempDir()}
		shard := func(id string) protocol.DesiredShard {
			s := shardOf(id, map[string]string{"TOY_SAY": words[id]})
			s.Devices = []inventory.DeviceShare{{Index: 0}}
			return s
		}
		p.order(shard("a-1.0"))
		p.wait(t, "a-1.0", inventory.ShardReady)
		used.Store(20000)
		p.order(shard("b-1.0"))
		until(t, "b waits", func() bool {
			return strings.Contains(p.status("b-1.0").Error, "device 0 has 20000 of 24576 MiB in use")
		})
		if st := p.status("b-1.0"); st.State != inventory.ShardPending || len(processes(words["a-1.0"]))+len(processes(words["b-1.0"])) > 0 {
			t.Errorf("while the memory is not free: %+v", st)
		}
		used.Store(10)
		if st := p.wait(t, "b-1.0", inventory.ShardReady); st.Error != "" {
			t.Errorf("got %+v", st)
		}
	})
	t.Run("for ever", func(t *testing.T) {
		t.Parallel()
		p := newPlane()
		cfg := config(t, p)
		cfg.Times.DeviceFree = 30 * time.Millisecond
		var used atomic.Int64
		used.Store(24000)
		device(&cfg, &used)
		run(t, cfg)
		s := shardOf("m-1.0", nil)
		s.Devices = []inventory.DeviceShare{{Index: 0}}
		p.order(s)
		st := p.wait(t, s.Shard, inventory.ShardFailed)
		if st.Cause != string(protocol.CauseMemory) || !strings.Contains(st.Error, "nvidia-smi") || st.Starts != 0 {
			t.Errorf("got %+v", st)
		}
	})
}
