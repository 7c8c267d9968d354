package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// keepUsed notes which files a shard is about to start with.
func (s *shard) keepUsed(at *protocol.Launch) {
	files := slices.Clone(at.Weights)
	for _, ad := range at.Adapters {
		files = append(files, ad.Path)
	}
	if err := s.a.used.holds(s.a.cfg.DataDir, s.id, files, time.Now()); err != nil {
		s.log.Warn("it cannot be kept which weights are used", "err", err)
	}
}

// describe adds to weights that were found what the agent itself knows of them:
// what they were fetched for, their hash, and when a shard last had them.
func (a *Agent) describe(list []inventory.Weight) []inventory.Weight {
	if list == nil {
		return nil
	}
	if err := a.used.tick(a.cfg.DataDir, a.hasShard, time.Now()); err != nil {
		a.cfg.Logger.Warn("it cannot be kept which weights are used", "err", err)
	}
	out := slices.Clone(list)
	for i := range out {
		w := &out[i]
		for j, dir := range a.cfg.WeightsDirs {
			path := filepath.Join(dir, filepath.FromSlash(w.Path))
			if used := a.used.last(a.cfg.DataDir, path); used.After(w.LastUsed) {
				w.LastUsed = used
			}
			if j == 0 {
				source, sum := a.fetcher.Known(path)
				w.Source = source
				if sum != "" {
					w.SHA256 = sum
				}
			}
		}
	}
	return out
}

// hasShard reports whether a shard is worked at or runs.
func (a *Agent) hasShard(id string) bool {
	a.mu.Lock()
	_, worked := a.shards[id]
	a.mu.Unlock()
	if worked {
		return true
	}
	e, ok := a.ledger.entry(id)
	return ok && !e.Down
}

// answerCollect removes weights, each only if it may go.
func (a *Agent) answerCollect(ctx context.Context, ask protocol.Ask) {
	var args protocol.CollectArgs
	if !a.arguments(ctx, ask, &args) {
		return
	}
	if len(args.Paths) > protocol.MaxCollect {
		a.refuse(ctx, ask, fmt.Sprintf("at most %d may be removed at once", protocol.MaxCollect))
		return
	}
	out := protocol.CollectResult{Removed: []inventory.RemovedWeights{}}
	for _, path := range args.Paths {
		if ctx.Err() != nil {
			return
		}
		freed, err := a.fetcher.Remove(path, a.needs)
		if err != nil {
			out.Kept = append(out.Kept, inventory.KeptWeights{Path: clip(path), Why: err.Error()})
			continue
		}
		a.cfg.Logger.Info("weights were removed", "path", path, "bytes", freed)
		out.Removed = append(out.Removed, inventory.RemovedWeights{Path: path, Bytes: freed})
	}
	if len(out.Removed) > 0 {
		notify(a.facts.look)
	}
	data, err := json.Marshal(out)
	if err != nil {
		a.refuse(ctx, ask, "the answer cannot be written")
		return
	}
	a.send(ctx, protocol.Answer{ID: ask.ID, OK: true, Result: data}, nil)
}

// needs says why weights are needed here: a shard has them, or is wanted with
// them. Empty: they are not.
func (a *Agent) needs(source, folder string) (why string) {
	if shard := a.used.user(a.cfg.DataDir, folder); shard != "" && a.hasShard(shard) {
		return fmt.Sprintf("shard %s has it", shard)
	}
	d := a.ledger.desired()
	for _, keep := range d.Keep {
		if keep == source || keep == filepath.Base(folder) {
			return "the control plane wants it kept"
		}
	}
	for _, f := range d.Fetch {
		if fetch.Needs(shardFor(f), source, filepath.Base(folder)) {
			return fmt.Sprintf("it is fetched ahead for model %s", f.Model)
		}
	}
	for _, s := range d.Shards {
		if fetch.Needs(s, source, filepath.Base(folder)) {
			return fmt.Sprintf("shard %s is wanted with it", s.Shard)
		}
	}
	return ""
}
