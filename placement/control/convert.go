package control

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement/reconciler"
	"llmgw.io/llmgw/storage"
)

// assignmentOf is a replica as it is kept. Nothing is lost on the way there and
// back: the rank is a shard's place in the list, and its id is its room's.
func assignmentOf(r reconciler.Replica) storage.Assignment {
	return storage.Assignment{
		Replica: string(r.ID), Model: r.Model, Source: r.Source, Files: r.Files, Profile: r.Profile,
		Adapters: r.Adapters, Fingerprint: r.Fingerprint, CreatedAt: r.CreatedAt,
		Phase: string(r.Phase), PhaseSince: r.PhaseSince, DrainBy: r.DrainBy, Why: r.Why,
		Replaces: string(r.Replaces), Restart: string(r.Restart), ReadyAt: r.ReadyAt,
		Shards: spots(&r),
	}
}

func replicaOf(a storage.Assignment) reconciler.Replica {
	r := reconciler.Replica{
		ID: reconciler.ReplicaID(a.Replica), Model: a.Model, Source: a.Source, Files: a.Files, Profile: a.Profile,
		Adapters: a.Adapters, Fingerprint: a.Fingerprint, CreatedAt: a.CreatedAt,
		Phase: reconciler.Phase(a.Phase), PhaseSince: a.PhaseSince, DrainBy: a.DrainBy, Why: a.Why,
		Replaces: reconciler.ReplicaID(a.Replaces), Restart: reconciler.RestartMode(a.Restart), ReadyAt: a.ReadyAt,
		Shards: make([]reconciler.Shard, len(a.Shards)),
	}
	for rank, spot := range a.Shards {
		r.Shards[rank] = reconciler.Shard{ID: reconciler.ShardID(spot.Shard), Rank: rank, Spot: spot}
	}
	return r
}

// encodeMemory is the form in which a model's memory is kept. Keys that a later
// version adds are ignored by an earlier one.
func encodeMemory(m reconciler.ModelMemory) ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("control: encode what is remembered of a model: %w", err)
	}
	return b, nil
}

func decodeMemory(b []byte) (m reconciler.ModelMemory, err error) {
	err = json.Unmarshal(b, &m)
	return m, err
}

func sortedKeys[V any](m map[catalog.Name]V) []catalog.Name {
	return slices.Sorted(maps.Keys(m))
}
