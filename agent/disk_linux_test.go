package agent_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// TestDiskFull fills a small disk with a download whose size nobody knew, and
// then makes the disk larger: the shard must come up by itself, in the same
// agent, which beats all the while.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no small disk can be made here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	body := strings.Repeat("0123456789abcdef", 200000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(body); i += 100000 { // in pieces, so without a length
			if _, err := w.Write([]byte(body[i : i+100000])); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(s.Close)
	p := newPlane()
	cfg := config(t, p)
	cfg.WeightsDirs, cfg.LowWaterBytes, cfg.HTTP = []string{dir}, 1, s.Client()
	cfg.Engines = []agent.Engine{&agenttest.Engine{}}
	run(t, cfg)
	p.clear(t)
	shard := shardOf("m-1.0", nil)
	shard.Source = s.URL + "/w.gguf"
	p.order(shard)
	st := p.wait(t, shard.Shard, inventory.ShardFailed)
	if st.Cause != string(protocol.CauseDisk) || !strings.Contains(st.Error, dir) {
		t.Errorf("got %+v", st)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	p.wait(t, shard.Shard, inventory.ShardReady)
}
