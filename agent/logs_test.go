package agent

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"llmgw.io/llmgw/agent/logs"
	"llmgw.io/llmgw/agent/protocol"
)

func TestOpenLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own := filepath.Join(dir, "agent.log")
	a := &Agent{cfg: Config{DataDir: dir, LogFile: own}.withDefaults()}
	if err := os.MkdirAll(a.shardDir("s"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{own: "the agent's", filepath.Join(a.shardDir("s"), logs.Engine): "an engine's"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for shard, want := range map[string]string{"": "the agent's", "s": "an engine's"} {
		r, err := a.openLog(t.Context(), protocol.LogsArgs{Shard: shard})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		_ = r.Close()
		if err != nil || string(got) != want {
			t.Errorf("shard %q: %q, %v; want %q", shard, got, err, want)
		}
	}
	for _, shard := range []string{"other", "../agent.log", "../../etc/passwd"} {
		if _, err := a.openLog(t.Context(), protocol.LogsArgs{Shard: shard}); err == nil || !strings.Contains(err.Error(), "no log") {
			t.Errorf("shard %q: %v", shard, err)
		}
	}
}
