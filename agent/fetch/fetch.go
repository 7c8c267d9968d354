package fetch

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"llmgw.io/llmgw/inventory"
)

// Fetcher brings weights to this machine. However many ask for one set, it is
// fetched once; all of them see its progress.
type Fetcher struct {
	cfg  Config
	http *http.Client

	// removing is held while a set is removed.
	removing sync.Mutex

	mu      sync.Mutex
	flights map[string]*flight
	// checked are local files whose hash was found right, with what they were.
	checked map[string]checkedFile
}

// New checks the configuration. It touches no file and starts nothing.
func New(cfg Config) (*Fetcher, error) {
	cfg = cfg.withDefaults()
	client, err := cfg.client()
	if err = errors.Join(cfg.check(), err); err != nil {
		return nil, err
	}
	return &Fetcher{cfg: cfg, http: keepToken(client, cfg.Hub), flights: map[string]*flight{}, checked: map[string]checkedFile{}}, nil
}

// Get returns the absolute paths of a set's files, in its order, once all of
// them are there and right. What is fetched is told of at once and then now and
// then, from the caller's goroutine: progress, and why nothing comes if so. An
// error is an *Error, or ctx's.
func (f *Fetcher) Get(ctx context.Context, w Set, told func(p inventory.Fetch, trouble string)) ([]string, error) {
	if w.empty() {
		return nil, nil
	}
	if !w.local() {
		told(inventory.Fetch{Source: w.shown(), BytesTotal: w.bytes()}, "")
	}
	key := w.key()
	fl := f.join(key, w)
	defer f.leave(key, fl)
	tick := time.NewTicker(f.cfg.Look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-fl.done:
			if fl.err != nil {
				return nil, fl.err
			}
			return fl.paths, f.look(w, fl.paths)
		case <-tick.C:
			told(fl.snapshot(w))
		}
	}
}

func (f *Fetcher) join(key string, w Set) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl := f.flights[key]; fl != nil {
		fl.waiters++
		return fl
	}
	// The flight belongs to all who wait for it, so it ends with the last of
	// them and not with the first.
	ctx, cancel := context.WithCancel(context.Background())
	fl := &flight{cancel: cancel, waiters: 1, done: make(chan struct{})}
	f.flights[key] = fl
	go func() {
		fl.paths, fl.err = f.fetch(ctx, w, fl)
		f.mu.Lock()
		if f.flights[key] == fl {
			delete(f.flights, key)
		}
		f.mu.Unlock()
		close(fl.done)
	}()
	return fl
}

func (f *Fetcher) leave(key string, fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl.waiters--; fl.waiters == 0 {
		fl.cancel()
		if f.flights[key] == fl {
			delete(f.flights, key)
		}
	}
}

func (f *Fetcher) fetch(ctx context.Context, w Set, fl *flight) ([]string, error) {
	if w.local() {
		return f.inPlace(ctx, w)
	}
	source := w
	w, err := f.resolve(ctx, w, fl)
	if err != nil {
		return nil, err
	}
	root, unlock, err := f.open(ctx, w.key())
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := writeRecord(root, record{Source: source.shown()}); err != nil {
		return nil, diskFailure(err, root.Name())
	}
	if err := f.ahead(ctx, root, w, fl); err != nil {
		return nil, err
	}
	var paths []string
	for _, file := range w.files {
		d := &download{f: f, root: root, file: file, fl: fl}
		if err := d.run(ctx); err != nil {
			return nil, err
		}
		paths = append(paths, filepath.Join(root.Name(), filepath.FromSlash(file.name)))
	}
	return paths, nil
}
