package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

// checkedFile is what a local file was when its hash was found right.
type checkedFile struct {
	sum  string
	size int64
	at   time.Time
}

// inPlace uses files where they are. They are read only; one with a hash is
// read whole once, and again when it has changed.
func (f *Fetcher) inPlace(ctx context.Context, w Set) ([]string, error) {
	var paths []string
	for _, file := range w.files {
		u, err := url.Parse(file.from[0])
		if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
			return nil, failed(protocol.CauseFile, fmt.Sprintf("%s is no file of this machine; write file:///path", clip(file.from[0])))
		}
		path := filepath.Clean(filepath.FromSlash(u.Path))
		info, err := os.Stat(path)
		switch {
		case os.IsNotExist(err):
			return nil, failed(protocol.CauseFile, fmt.Sprintf("there is no file %s on this node; put it there, or give a source that every node can fetch", path))
		case err != nil:
			return nil, failed(protocol.CauseFile, fmt.Sprintf("the file %s cannot be read: %v; check its owner and mode", path, err))
		case info.IsDir() && len(w.files) == 1 && file.sha256 == "":
			return f.inFolder(path, w.want)
		case !info.Mode().IsRegular():
			return nil, failed(protocol.CauseFile, fmt.Sprintf("%s is not a file but a folder or something else; name the file of weights itself", path))
		case info.Size() == 0:
			return nil, failed(protocol.CauseFile, fmt.Sprintf("the file %s is empty; copy it again", path))
		case file.bytes > 0 && info.Size() != file.bytes:
			return nil, failed(protocol.CauseHash, fmt.Sprintf("the file %s has %d bytes and should have %d; copy it again, or correct the definition", path, info.Size(), file.bytes))
		}
		if err := f.verify(ctx, path, file.sha256, info); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (f *Fetcher) verify(ctx context.Context, path, want string, info os.FileInfo) error {
	if want == "" {
		return nil
	}
	now := checkedFile{sum: want, size: info.Size(), at: info.ModTime()}
	f.mu.Lock()
	known := f.checked[path] == now
	f.mu.Unlock()
	if known {
		return nil
	}
	got, err := sumFile(ctx, path)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return failed(protocol.CauseFile, fmt.Sprintf("the file %s cannot be read: %v; check its owner, its mode and its disk", path, err))
	}
	if got != want {
		return failed(protocol.CauseHash, fmt.Sprintf("the file %s has the hash %s and should have %s; copy it again, or correct the definition", path, got, want))
	}
	f.mu.Lock()
	f.checked[path] = now
	f.mu.Unlock()
	return nil
}

func sumFile(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, &ctxReader{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// ctxReader stops reading a long file when nobody waits for it any more.
type ctxReader struct {
	ctx context.Context //nolint:containedctx // a reader has no other way to hear of it
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
