package agent_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Weights that are wanted ahead are fetched, said, and kept from being collected; a
// shard that comes needs its source no more; and what is no longer wanted is
// forgotten and may go.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() || strings.Contains(r.URL.Path, "gone") {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("weights"))
	}))
	t.Cleanup(s.Close)
	p := newPlane()
	cfg := config(t, p)
	dir := t.TempDir()
	cfg.WeightsDirs, cfg.LowWaterBytes, cfg.HTTP = []string{dir}, 1, s.Client()
	stop := run(t, cfg)
	shard := shardOf("m-1.0", nil)
	shard.Source = s.URL + "/w.gguf?key=secret"
	ahead := func(models ...string) {
		p.edit(func(d *protocol.Desired) {
			d.Fetch = nil
			d.Version++
			for _, m := range models {
				d.Fetch = append(d.Fetch, protocol.DesiredFetch{Model: catalog.Name(m), Engine: shard.Engine, Source: s.URL + "/" + m + ".gguf?key=secret"})
			}
		})
	}
	states := func() string {
		p.mu.Lock()
		defer p.mu.Unlock()
		var out []string
		if p.facts != nil {
			for _, f := range p.facts.Prefetch {
				out = append(out, f.Model+" "+string(f.State)+" "+f.Source)
			}
		}
		return strings.Join(out, ", ")
	}
	ahead("w", "gone")
	until(t, "one is there and one is not", func() bool {
		return states() == "gone failed "+s.URL+"/gone.gguf, w ready "+s.URL+"/w.gguf"
	})
	found, err := filepath.Glob(filepath.Join(dir, "*", "w.gguf"))
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	folder := filepath.Base(filepath.Dir(found[0]))
	if got := p.collect(t, "1", folder); len(got.Kept) != 1 || !strings.Contains(got.Kept[0].Why, "fetched ahead for model w") {
		t.Errorf("while it is wanted ahead: %+v", got)
	}
	// Its order outlives the agent, and its source.
	stop()
	away.Store(true)
	p.mu.Lock()
	p.facts = nil
	p.mu.Unlock()
	run(t, cfg)
	p.clear(t)
	until(t, "it is known after a restart", func() bool { return strings.Contains(states(), "w ready") })
	p.order(shard)
	p.wait(t, shard.Shard, inventory.ShardReady)
	p.order()
	ahead()
	until(t, "nothing is said of it", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.facts != nil && len(p.facts.Prefetch) == 0 && len(p.seen) == 0
	})
	if got := p.collect(t, "2", folder); len(got.Removed) != 1 {
		t.Errorf("once it is wanted no more: %+v", got)
	}
	if _, err := os.Stat(found[0]); !os.IsNotExist(err) {
		t.Errorf("it is there still: %v", err)
	}
}
