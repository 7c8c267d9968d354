package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// changedAt is the argument of an engine by which an agent sees when its
// assignment was changed: the two processes have one clock.
const changedAt = "--changed-at="

// orders is what is desired of the fleet: a replica on each node.
type orders struct {
	hub  *hub.Hub
	list []reconciler.Replica
}

func newOrders(h *hub.Hub, agents int) *orders {
	o := &orders{hub: h, list: make([]reconciler.Replica, agents)}
	for i := range o.list {
		id := reconciler.ReplicaID("model-" + strconv.Itoa(i%300) + "-" + strconv.Itoa(i))
		shard := reconciler.ShardID(string(id) + "/0")
		o.list[i] = reconciler.Replica{
			ID: id, Model: catalog.Name("model-" + strconv.Itoa(i%300)), Source: "hf://org/model@main",
			Files: []catalog.File{{Path: "model.safetensors", SHA256: strings.Repeat("ab", 32), Bytes: 1 << 34}},
			Profile: catalog.Profile{
				Name: "tp8", Engine: catalog.EngineVLLM, Build: "cu129", Context: 32768, Slots: 64, TensorParallel: 8,
				Args: arguments(time.Now()), Env: map[string]string{"NCCL_DEBUG": "WARN", "VLLM_LOGGING_LEVEL": "INFO"},
			},
			Fingerprint: "0123456789abcdef", Phase: reconciler.Run, PhaseSince: time.Now(),
			Shards: []reconciler.Shard{{ID: shard, Spot: spot(i, shard, id)}},
		}
	}
	return o
}

func arguments(now time.Time) []string {
	return []string{"--max-num-batched-tokens=8192", "--enable-chunked-prefill", "--kv-cache-dtype=fp8", changedAt + strconv.FormatInt(now.UnixNano(), 10)}
}

func spot(i int, shard reconciler.ShardID, r reconciler.ReplicaID) inventory.Allocation {
	s := inventory.Allocation{Shard: string(shard), Replica: string(r), Model: "model", Node: inventory.NodeID(nodeName(i)), MemoryMB: 65536, Cores: 16}
	for d := range cards {
		s.Devices = append(s.Devices, inventory.DeviceShare{Index: d})
	}
	return s
}

// all orders everything.
func (o *orders) all(ctx context.Context) error {
	return o.hub.Dispatch(ctx, 1, slices.Clone(o.list)) // the hub keeps what it is given
}

// change changes assignments one after the other, each on another node.
func (o *orders) change(ctx context.Context, count int, every time.Duration) error {
	t := time.NewTicker(every)
	defer t.Stop()
	for i := range count {
		<-t.C
		r := &o.list[i*7919%len(o.list)] // a prime, so that none comes twice
		r.Profile.Args = arguments(time.Now())
		if err := o.all(ctx); err != nil {
			return fmt.Errorf("change %d: %w", i, err)
		}
	}
	return nil
}
