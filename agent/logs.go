package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

// openLog opens what an ask wants to see: a shard's engine's log, or the
// agent's own.
func (a *Agent) openLog(ctx context.Context, args protocol.LogsArgs) (io.ReadCloser, error) {
	path := a.cfg.LogFile
	if args.Shard != "" {
		path = filepath.Join(a.cfg.DataDir, "shards", hashed(args.Shard), logName)
	} else if path == "" {
		return nil, errors.New("this agent keeps no log in a file; look into the journal of its machine (journalctl -u llmgw-agent)")
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("there is no log of %q on this node; it may never have been started here", clip(args.Shard))
	}
	start, err := tailStart(path, args.Tail)
	if err != nil {
		return nil, fmt.Errorf("the log cannot be read: %w", err)
	}
	r := &logReader{ctx: ctx, path: path, follow: args.Follow, look: a.cfg.Times.Look}
	if args.Tail <= 0 {
		r.older = olderLogs(path)
	}
	return r, r.open(start)
}

func olderLogs(path string) []string {
	var out []string
	for n := logFiles - 1; n > 0; n-- {
		if _, err := os.Stat(numbered(path, n)); err == nil {
			out = append(out, numbered(path, n))
		}
	}
	return out
}

// tailStart is where the last n lines of a file begin. Zero lines: at its start.
func tailStart(path string, n int) (int64, error) {
	if n <= 0 {
		return 0, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	for at, first := end, true; at > 0; first = false {
		size := min(at, int64(len(buf)))
		at -= size
		if _, err := f.ReadAt(buf[:size], at); err != nil {
			return 0, err
		}
		chunk := buf[:size]
		if first && chunk[len(chunk)-1] == '\n' {
			chunk = chunk[:len(chunk)-1] // it ends the last line and begins none
		}
		for {
			i := bytes.LastIndexByte(chunk, '\n')
			if i < 0 {
				break
			}
			if n--; n == 0 {
				return at + int64(i) + 1, nil
			}
			chunk = chunk[:i]
		}
	}
	return 0, nil
}

// logReader reads older files, then the present one, and goes on with it while
// it is followed. A log that was cut is read from its new beginning.
type logReader struct {
	ctx    context.Context //nolint:containedctx // a reader has no other way to hear of it
	path   string
	older  []string
	follow bool
	look   time.Duration
	f      *os.File
	at     int64
}

func (r *logReader) open(at int64) (err error) {
	r.at = at
	r.f, err = os.Open(r.path)
	return err
}

// Read is io.Reader's.
func (r *logReader) Read(p []byte) (int, error) {
	for {
		if n, err := r.readOlder(p); n > 0 || err != nil {
			return n, err
		}
		n, err := r.f.ReadAt(p, r.at)
		if r.at += int64(n); n > 0 {
			return n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if !r.follow {
			return 0, io.EOF
		}
		select {
		case <-r.ctx.Done():
			return 0, io.EOF
		case <-time.After(r.look):
		}
		if info, err := r.f.Stat(); err == nil && info.Size() < r.at {
			r.at = 0
		}
	}
}

// readOlder reads the files that were put aside, each once. At most 20 MiB are
// held, and only while somebody reads.
func (r *logReader) readOlder(p []byte) (int, error) {
	for len(r.older) > 0 {
		f, err := os.Open(r.older[0])
		if err == nil {
			n, err := f.ReadAt(p, r.at)
			_ = f.Close()
			if r.at += int64(n); n > 0 {
				return n, nil
			}
			_ = err
		}
		r.older, r.at = r.older[1:], 0
	}
	return 0, nil
}

// Close ends the reading.
func (r *logReader) Close() error { return r.f.Close() }

// logLoop keeps the engines' logs and the folders of shards that are gone in
// bounds.
func (a *Agent) logLoop(ctx context.Context) {
	t := time.NewTicker(10 * time.Second)
	defer t.Stop()
	for {
		for _, id := range a.ledger.ids() {
			rotate(filepath.Join(a.cfg.DataDir, "shards", hashed(id), logName), logBytes)
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
