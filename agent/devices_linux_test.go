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
	cfg.Engines = []agent.Engine{&agenttest.Toy{Engine: agenttest.Engine{UseFunc: func(context.Context, protocol.Endpoint) (int, int, error) {
		return int(running.Load()), 0, nil
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
	cfg.Engines = []agent.Engine{&agenttest.Toy{Engine: agenttest.Engine{UseFunc: func(context.Context, protocol.Endpoint) (int, int, error) {
		return int(running.Load()), 0, nil
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
