package hub

import (
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// Spans of a profile that names none.
const (
	startTimeout = 10 * time.Minute
	drainTimeout = 5 * time.Minute
)

// desiredShard writes one shard of a replica the way its agent reads it.
func desiredShard(r *reconciler.Replica, s reconciler.Shard, fleet *inventory.Snapshot, key func(string) string) protocol.DesiredShard {
	p := &r.Profile
	d := protocol.DesiredShard{
		Shard: string(s.ID), Replica: string(r.ID), Model: r.Model, Profile: p.Name,
		Want: wantOf(r.Phase), Rank: s.Rank, Of: max(1, len(r.Shards)),
		Devices: slices.Clone(s.Spot.Devices), MemoryMB: s.Spot.MemoryMB, Cores: s.Spot.Cores,
		Engine: p.Engine, Build: p.Build, Args: slices.Clone(p.Args), Env: maps.Clone(p.Env),
		Context: p.Context, Slots: p.Slots,
		TensorParallel: p.TensorParallel, PipelineParallel: max(1, p.PipelineParallel), DataParallel: max(1, p.DataParallel),
		Source: r.Source, EngineKey: key(string(r.ID)),
		StartTimeout: orSpan(time.Duration(p.StartTimeout), startTimeout),
		DrainTimeout: orSpan(time.Duration(p.DrainTimeout), drainTimeout),
	}
	if d.TensorParallel == 0 {
		d.TensorParallel = 1
		if p.GPU != nil {
			d.TensorParallel = max(1, p.GPU.Count)
		}
	}
	d.Files, d.Adapters = filesOf(r.Source, r.Files), adaptersOf(r.Adapters)
	if n := fleet.Node(s.Spot.Node); n != nil && d.Build == "" {
		d.Build = n.ChosenBuild(string(p.Engine))
	}
	if len(r.Shards) > 1 {
		joinGroup(&d, r, s, fleet)
	}
	return d
}

// filesOf are a model's files with where each is.
func filesOf(source string, files []catalog.File) (out []protocol.DesiredFile) {
	for _, f := range files {
		out = append(out, protocol.DesiredFile{Path: f.Path, SHA256: f.SHA256, Bytes: f.Bytes, From: []string{sourceOf(source, f.Path)}})
	}
	return out
}

func adaptersOf(adapters []catalog.Adapter) (out []protocol.DesiredFile) {
	for _, a := range adapters {
		out = append(out, protocol.DesiredFile{Name: string(a.Name), Path: path.Base(a.Source), From: []string{a.Source}})
	}
	return out
}

// desiredFetch writes weights that are fetched ahead the way their agent reads it.
func desiredFetch(p reconciler.Prefetch) protocol.DesiredFetch {
	return protocol.DesiredFetch{Model: p.Model, Engine: p.Engine, Source: p.Source, Files: filesOf(p.Source, p.Files), Adapters: adaptersOf(p.Adapters)}
}

func wantOf(p reconciler.Phase) protocol.ShardWant {
	switch p {
	case reconciler.Drain:
		return protocol.WantDrain
	case reconciler.Stop:
		return protocol.WantStop
	}
	return protocol.WantRun
}

// sourceOf is the URL of one of a model's files: the source itself, what stands
// beside it, or what is in it where it is a folder or a repository.
func sourceOf(source, name string) string {
	u, err := url.Parse(source)
	if err != nil || name == "" || path.Base(u.Path) == path.Base(name) {
		return source
	}
	dir := u.Path
	switch strings.ToLower(path.Ext(dir)) {
	case ".gguf", ".safetensors", ".json", ".bin", ".pt", ".pth", ".ckpt":
		dir = path.Dir(dir)
	}
	u.Path, u.RawPath, u.Fragment = path.Join(dir, name), "", ""
	return u.String()
}

func orSpan(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}
