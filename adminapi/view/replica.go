package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// Replica is one running copy of a model.
type Replica struct {
	ID          string  `json:"id"`
	EngineKey   string  `json:"engine_key,omitempty" doc:"only for callers with the scope secrets"`
	Restart     string  `json:"restart,omitempty" doc:"queued, or replacing while its replacement starts"`
	Model       string  `json:"model"`
	Profile     string  `json:"profile"`
	Stale       bool    `json:"stale,omitempty" doc:"the profile was edited since it was placed; reported, and replaced for it only by an order to restart with rollout"`
	State       string  `json:"state"`
	Pool        string  `json:"pool,omitempty"`
	Fabric      string  `json:"fabric,omitempty"`
	Endpoint    string  `json:"endpoint,omitempty"`
	AgeSeconds  int64   `json:"age_seconds"`
	IdleSeconds int64   `json:"idle_seconds" doc:"-1: no use reported yet"`
	Error       string  `json:"error,omitempty"`
	Shards      []Shard `json:"shards"`
}

// Shard is one process of a replica on one node.
type Shard struct {
	ID          string   `json:"id"`
	Node        string   `json:"node"`
	Rank        int      `json:"rank"`
	GPUs        []string `json:"gpus" doc:"labels of its devices; empty on CPUs"`
	State       string   `json:"state"`
	Error       string   `json:"error,omitempty"`
	Fetch       *Fetch   `json:"fetch,omitempty"`
	CPUCores    *float64 `json:"cpu_cores,omitempty" doc:"measured within a minute, else absent"`
	MemoryBytes *int64   `json:"memory_bytes,omitempty" doc:"measured within a minute, else absent"`
}

// Fetch is the progress of bringing weights to a node.
type Fetch struct {
	Source     string `json:"source"`
	BytesDone  int64  `json:"bytes_done"`
	BytesTotal int64  `json:"bytes_total,omitempty"`
	Percent    *int   `json:"percent,omitempty" doc:"absent while the total is unknown"`
}

// ReplicasOf builds the replicas of one model, or of all when the name is
// empty, those that others run too, ordered by id.
func ReplicasOf(w World, model catalog.Name) []Replica {
	replaced := map[reconciler.ReplicaID]bool{}
	for i := range w.View.Replicas {
		replaced[w.View.Replicas[i].Replaces] = true
	}
	out := []Replica{}
	for i := range w.View.Replicas {
		r := &w.View.Replicas[i]
		if model != "" && r.Model != model {
			continue
		}
		v := ReplicaOf(w, r)
		if r.Restart != reconciler.NoRestart {
			v.Restart = "queued"
			if replaced[r.ID] {
				v.Restart = "replacing"
			}
		}
		out = append(out, v)
	}
	out = append(out, staticReplicas(w, model)...)
	slices.SortStableFunc(out, func(a, b Replica) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// ReplicaOf builds one replica, but for the progress of its restart, which only
// the listing knows.
func ReplicaOf(w World, r *reconciler.Replica) Replica {
	v := Replica{
		ID: string(r.ID), Model: string(r.Model), Profile: r.Profile.Name, Pool: r.Profile.Pool, Fabric: r.Profile.Fabric,
		State: string(reconciler.StateOf(r, w.View.Fleet)), Stale: reconciler.Stale(w.View.Catalog, r),
		AgeSeconds: seconds(w.Now.Sub(r.CreatedAt)), IdleSeconds: -1, Shards: []Shard{},
	}
	if t := w.View.Traffic.Replicas[r.ID].LastUsed; !t.IsZero() {
		v.IdleSeconds = seconds(w.Now.Sub(t))
	}
	if w.EngineKey != nil {
		v.EngineKey = w.EngineKey(string(r.ID))
	}
	for i := range r.Shards {
		st := reconciler.ShardStateOf(r, &r.Shards[i], w.View.Fleet)
		if st.Address != "" && v.Endpoint == "" {
			v.Endpoint = st.Address
		}
		if v.Error == "" {
			v.Error = st.Error
		}
		v.Shards = append(v.Shards, shardOf(w, &r.Shards[i], st))
	}
	return v
}

func shardOf(w World, s *reconciler.Shard, st inventory.ShardStatus) Shard {
	n := w.node(s.Spot.Node)
	v := Shard{
		ID: string(s.ID), Node: string(s.Spot.Node), Rank: s.Rank, GPUs: []string{},
		State: string(st.State), Error: st.Error, Fetch: fetchOf(st.Fetch),
	}
	for _, d := range s.Spot.Devices {
		v.GPUs = append(v.GPUs, deviceLabel(n, d.Index))
	}
	if st.Use != nil && fresh(n, w.Now) {
		v.CPUCores, v.MemoryBytes = &st.Use.CPUCores, &st.Use.MemoryBytes
	}
	return v
}

// deviceLabel is what people call a device; its index when the node is gone.
func deviceLabel(n *inventory.Node, index int) string {
	if n != nil {
		for _, d := range n.Facts.Devices {
			if d.Index == index && d.Label != "" {
				return d.Label
			}
		}
	}
	return strconv.Itoa(index)
}

func fetchOf(f *inventory.Fetch) *Fetch {
	if f == nil {
		return nil
	}
	v := &Fetch{Source: f.Source, BytesDone: f.BytesDone, BytesTotal: f.BytesTotal}
	if f.BytesTotal > 0 {
		p := int(min(100, f.BytesDone*100/f.BytesTotal))
		v.Percent = &p
	}
	return v
}

// staticReplicas are those that others run: they have no node and no shards.
func staticReplicas(w World, model catalog.Name) []Replica {
	var out []Replica
	count := map[catalog.Name]int{}
	for _, s := range w.Statics {
		count[s.Model]++
		if model != "" && s.Model != model {
			continue
		}
		v := Replica{
			ID: fmt.Sprintf("static:%s:%d", s.Model, count[s.Model]), Model: string(s.Model), Profile: s.Profile, Endpoint: s.URL,
			State: string(reconciler.StateReady), IdleSeconds: -1, Error: s.Error, Shards: []Shard{},
		}
		if !s.Ready {
			v.State = string(reconciler.StateFailed)
		}
		if s.Since != (time.Time{}) {
			v.AgeSeconds = seconds(w.Now.Sub(s.Since))
		}
		out = append(out, v)
	}
	return out
}
