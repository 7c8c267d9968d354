package agent_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// collect asks the agent to remove a folder.
func (p *plane) collect(t *testing.T, id, folder string) protocol.CollectResult {
	t.Helper()
	args, err := json.Marshal(protocol.CollectArgs{Paths: []string{folder}})
	if err != nil {
		t.Fatal(err)
	}
	p.edit(func(d *protocol.Desired) {
		d.Asks = append(d.Asks, protocol.Ask{ID: id, Kind: protocol.AskCollect, Args: args, Deadline: time.Now().Add(time.Minute)})
	})
	var out protocol.CollectResult
	if err := json.Unmarshal([]byte(<-p.answers), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Weights are removed once no shard has them and none is wanted with them, and
// what a shard has is known to be in use.
func TestCollect(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("weights")) }))
	t.Cleanup(s.Close)
	p := newPlane()
	cfg := config(t, p)
	dir := t.TempDir()
	cfg.WeightsDirs, cfg.LowWaterBytes, cfg.HTTP = []string{dir}, 1, s.Client()
	prober := &agenttest.Prober{}
	prober.FactsFunc = func(context.Context) inventory.Facts {
		f := agenttest.DefaultFacts()
		found, _ := filepath.Glob(filepath.Join(dir, "*", "w.gguf"))
		f.Weights = []inventory.Weight{}
		for _, path := range found {
			rel, _ := filepath.Rel(dir, path)
			f.Weights = append(f.Weights, inventory.Weight{Path: rel, Bytes: 7})
		}
		return f
	}
	cfg.Prober, cfg.Times.Facts = prober, 20*time.Millisecond
	run(t, cfg)
	p.clear(t)
	shard := shardOf("m-1.0", nil)
	shard.Source = s.URL + "/w.gguf?token=secret"
	p.order(shard)
	p.wait(t, shard.Shard, inventory.ShardReady)
	var w inventory.Weight
	until(t, "weights with their source", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.facts != nil && len(p.facts.Weights) > 0 {
			w = p.facts.Weights[0]
		}
		return w.Source != "" && !w.LastUsed.IsZero()
	})
	if w.Source != s.URL+"/w.gguf" || w.SHA256 == "" || time.Since(w.LastUsed) > 2*time.Hour || !w.LastUsed.Equal(w.LastUsed.Truncate(time.Hour)) {
		t.Errorf("the agent says %+v", w)
	}
	folder := filepath.Dir(w.Path)
	if got := p.collect(t, "1", folder); len(got.Removed) != 0 || len(got.Kept) != 1 || !strings.Contains(got.Kept[0].Why, "m-1.0") {
		t.Errorf("while a shard has it: %+v", got)
	}
	p.order()
	until(t, "an empty node", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return !contains(slices.Collect(maps.Values(p.seen)), shard.Shard)
	})
	if got := p.collect(t, "2", folder); len(got.Removed) != 1 || got.Removed[0].Path != folder || got.Removed[0].Bytes < 7 {
		t.Errorf("once nothing has it: %+v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, folder)); !os.IsNotExist(err) {
		t.Errorf("it is there still: %v", err)
	}
}
