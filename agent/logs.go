package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/agent/logs"
	"llmgw.io/llmgw/agent/protocol"
)

// shardDir is the private folder of a shard.
func (a *Agent) shardDir(id string) string { return filepath.Join(a.cfg.DataDir, "shards", hashed(id)) }

// noLog is why there is no log to show.
type noLog string

// Error is the sentence.
func (n noLog) Error() string { return string(n) }

// openLog opens what an ask wants to see: a shard's engine's log, or the
// agent's own.
func (a *Agent) openLog(ctx context.Context, args protocol.LogsArgs) (io.ReadCloser, error) {
	path := a.cfg.LogFile
	if args.Shard != "" {
		path = filepath.Join(a.shardDir(args.Shard), logs.Engine)
	} else if path == "" {
		return nil, noLog("this agent keeps no log in a file; look into the journal of its machine (journalctl -u llmgw-agent)")
	}
	if _, err := os.Stat(path); err != nil && args.Shard != "" {
		return nil, noLog(fmt.Sprintf("there is no log of shard %q on this node: it was never started here, or too long ago", clip(args.Shard)))
	}
	log, err := logs.Open(ctx, path, logs.Query{Tail: args.Tail, Follow: args.Follow, Look: a.cfg.Times.Look})
	if err != nil {
		return nil, fmt.Errorf("the log cannot be read: %w", err)
	}
	return log, nil
}

// logLoop keeps the engines' logs and the folders of shards that are gone in
// bounds.
func (a *Agent) logLoop(ctx context.Context) {
	t := time.NewTicker(10 * time.Second)
	defer t.Stop()
	for {
		for _, id := range a.ledger.ids() {
			logs.Bound(filepath.Join(a.shardDir(id), logs.Engine))
		}
		a.pruneFolders()
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// keptFolders is how many folders of shards that are gone stay for their logs.
const keptFolders = 16

func (a *Agent) pruneFolders() {
	dir := filepath.Join(a.cfg.DataDir, "shards")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	known := map[string]bool{}
	for _, id := range a.ledger.ids() {
		known[hashed(id)] = true
	}
	var gone []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && !known[e.Name()] {
			gone = append(gone, info)
		}
	}
	for len(gone) > keptFolders {
		oldest := 0
		for i, g := range gone {
			if g.ModTime().Before(gone[oldest].ModTime()) {
				oldest = i
			}
		}
		_ = os.RemoveAll(filepath.Join(dir, gone[oldest].Name()))
		gone = append(gone[:oldest], gone[oldest+1:]...)
	}
}
