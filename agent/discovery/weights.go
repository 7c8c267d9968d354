package discovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"llmgw.io/llmgw/internal/gguf"
	"llmgw.io/llmgw/internal/safetensors"
	"llmgw.io/llmgw/inventory"
)

const (
	// mostEntries and mostDepth bound the walk: a folder of weights that turns
	// out to be somebody's home must not keep the agent busy for ever.
	mostEntries = 20000
	mostDepth   = 8
	// mostWeights bounds the report.
	mostWeights = 2000
)

// errEnough ends a walk that went far enough.
var errEnough = errors.New("discovery: the walk is at its limit")

// weights lists finished files of weights: those whose header promises no more
// than is there. Parts of one model are files of their own here, since a
// definition names them one by one; each says what is missing beside it.
func (p *Prober) weights(ctx context.Context, f *inventory.Facts) error {
	if len(p.cfg.WeightsDirs) == 0 {
		return nil
	}
	found := map[string]inventory.Weight{}
	var errs []error
	for _, dir := range p.cfg.WeightsDirs {
		list, err := guarded(ctx, &p.slow, "the folder "+dir, func(ctx context.Context) ([]inventory.Weight, error) { return p.headers.walk(ctx, dir) })
		errs = append(errs, err)
		for _, w := range list {
			if _, there := found[w.Path]; !there {
				found[w.Path] = w
			}
		}
	}
	f.Weights = make([]inventory.Weight, 0, len(found))
	for _, w := range found {
		f.Weights = append(f.Weights, w)
	}
	slices.SortFunc(f.Weights, func(a, b inventory.Weight) int { return strings.Compare(a.Path, b.Path) })
	if len(f.Weights) > mostWeights {
		f.Weights = f.Weights[:mostWeights]
		errs = append(errs, fmt.Errorf("there are more than %d files; the rest is left out", mostWeights))
	}
	return errors.Join(errs...)
}

// headers remembers which files were found whole, so that a file is opened once
// and not each minute. A walk that hangs may still run beside the next.
type headers struct {
	mu    sync.Mutex
	whole map[string]seenFile
}

// seenFile is a file as it was when its header was read.
type seenFile struct {
	bytes int64
	at    time.Time
	whole bool
	seen  bool // in this walk; else it is gone, and is forgotten
}

// walk lists what is below a folder. One that is not there yet has none. A list
// comes with an error when only a part of it could be looked at.
func (h *headers) walk(ctx context.Context, root string) ([]inventory.Weight, error) {
	var out []inventory.Weight
	var unreadable error
	entries := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		entries++
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			unreadable = plain(err)
			return nil
		case entries > mostEntries:
			return errEnough
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if strings.Count(rel, string(filepath.Separator)) >= mostDepth {
				return filepath.SkipDir
			}
			return nil
		}
		if w, ok := h.weightAt(path, rel); ok {
			out = append(out, w)
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = fmt.Errorf("%s holds more than %d files; the rest was not looked at", root, mostEntries)
	}
	h.forget(root)
	lacks(root, out)
	return out, errors.Join(err, unreadable)
}

// weightAt is the file of weights at a path. A link counts as what it leads to,
// which is how caches keep their files.
func (h *headers) weightAt(path, rel string) (inventory.Weight, bool) {
	ext := strings.ToLower(filepath.Ext(path))
	if ext != ".gguf" && ext != ".safetensors" {
		return inventory.Weight{}, false
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return inventory.Weight{}, false
	}
	h.mu.Lock()
	known := h.whole[path]
	h.mu.Unlock()
	if known.bytes != info.Size() || !known.at.Equal(info.ModTime()) {
		known = seenFile{bytes: info.Size(), at: info.ModTime(), whole: complete(path, ext, info.Size())}
	}
	known.seen = true
	h.mu.Lock()
	if h.whole == nil {
		h.whole = map[string]seenFile{}
	}
	h.whole[path] = known
	h.mu.Unlock()
	return inventory.Weight{Path: filepath.ToSlash(rel), Bytes: info.Size()}, known.whole
}

// forget drops what is gone from below a folder.
func (h *headers) forget(root string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for path, f := range h.whole {
		if !strings.HasPrefix(path, root+string(filepath.Separator)) {
			continue
		}
		if !f.seen {
			delete(h.whole, path)
			continue
		}
		f.seen = false
		h.whole[path] = f
	}
}

// complete reports whether a file has all that its header promises: one that is
// still being copied has not.
func complete(path, ext string, size int64) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	if ext == ".gguf" {
		_, err = gguf.Read(file, size)
	} else {
		_, err = safetensors.Read(file, size)
	}
	return err == nil
}
