package control

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

// A replica survives the way into the store, through the store's own encoding,
// and back.
func TestReplicaIsKeptWhole(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 5, 8, 0, 0, 123456000, time.UTC)
	spot := func(shard string, node inventory.NodeID) inventory.Allocation {
		return inventory.Allocation{
			Shard: shard, Replica: "wide-12", Model: "wide", Node: node,
			Devices: []inventory.DeviceShare{{Index: 0}, {Index: 1, MemoryMB: 4096}}, MemoryMB: 8192, Cores: 4, DiskMB: 100,
		}
	}
	full := reconciler.Replica{
		ID: "wide-12", Model: "wide", Source: "hf://o/n@r", Files: []catalog.File{{Path: "w", SHA256: "ab", Bytes: 3}},
		Profile:  catalog.Profile{Name: "p", Engine: catalog.EngineVLLM, Shards: 2, Args: []string{"--a"}, Env: map[string]string{"K": "v"}, GPU: &catalog.GPU{Count: 2}},
		Adapters: []catalog.Adapter{{Name: "ad", Source: "file:///a"}}, Fingerprint: "f00d",
		CreatedAt: at, Phase: reconciler.Drain, PhaseSince: at.Add(time.Hour), DrainBy: at.Add(2 * time.Hour), Why: "asked",
		Replaces: "wide-11", Restart: reconciler.InPlace, ReadyAt: at.Add(time.Minute),
		Shards: []reconciler.Shard{
			{ID: "wide-12.0", Rank: 0, Spot: spot("wide-12.0", "a1")},
			{ID: "wide-12.1", Rank: 1, Spot: spot("wide-12.1", "a2")},
		},
	}
	bare := reconciler.Replica{ID: "m-1", Model: "m", CreatedAt: at, Phase: reconciler.Run, PhaseSince: at, Shards: []reconciler.Shard{}}
	for _, want := range []reconciler.Replica{full, bare} {
		data, err := json.Marshal(assignmentOf(want))
		if err != nil {
			t.Fatal(err)
		}
		var a storage.Assignment
		if err := json.Unmarshal(data, &a); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, replicaOf(a)); diff != "" {
			t.Errorf("%s came back changed (-want +got):\n%s", want.ID, diff)
		}
		if diff := cmp.Diff(a, assignmentOf(replicaOf(a))); diff != "" {
			t.Errorf("the row of %s came back changed (-want +got):\n%s", want.ID, diff)
		}
	}
}

func TestMemoryIsKeptWhole(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	for name, want := range map[string]reconciler.ModelMemory{
		"nothing": {},
		"all": {
			Failures: 5, RetryAt: at, Parked: true, Reason: "r", Cause: "memory", LastLines: []string{"a", "b"}, Revision: 1 << 62,
			FailedOn: map[inventory.NodeID]time.Time{"a1": at}, Unplaceable: true, Lost: []reconciler.ReplicaID{"m-1"},
			Former: &reconciler.Former{
				ID: "m-1", By: "m-2", Back: true, Source: "s", Files: []catalog.File{{Path: "f", Bytes: 1}},
				Profile: catalog.Profile{Name: "p", Context: 1024}, Adapters: []catalog.Adapter{{Name: "a"}},
			},
		},
	} {
		data, err := encodeMemory(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeMemory(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s came back changed (-want +got):\n%s", name, diff)
		}
	}
}

// The change of a step names what differs and nothing else.
func TestChangeOf(t *testing.T) {
	t.Parallel()
	before := reconciler.Memory{Next: 3, Models: map[catalog.Name]reconciler.ModelMemory{
		"same": {Failures: 1}, "less": {Failures: 1}, "gone": {Failures: 1},
	}}
	after := reconciler.Memory{Next: 3, Models: map[catalog.Name]reconciler.ModelMemory{
		"same": {Failures: 1}, "less": {Parked: true},
	}}
	c, err := changeOf(reconciler.Plan{}, before, after)
	if err != nil {
		t.Fatal(err)
	}
	want := storage.AssignmentChange{
		PutMemory: []storage.ModelMemory{{Model: "less", Data: []byte(`{"parked":true}`)}}, DeleteMemory: []catalog.Name{"gone"},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("want only what differs (-want +got):\n%s", diff)
	}
	if c, err := changeOf(reconciler.Plan{}, before, before); err != nil || !isEmpty(c) {
		t.Errorf("want nothing to write, got %+v, %v", c, err)
	}
}
