package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/inventory"
)

// fetcher brings weights to this machine. However many ask for one set, it is
// fetched once; all of them see its progress.
type fetcher struct {
	http     *http.Client
	dirs     []string
	lowWater int64
	times    Times
	log      *slog.Logger

	mu      sync.Mutex
	flights map[string]*flight
	// checked are local files whose hash was found right, with what they were.
	checked map[string]checkedFile
}

// flight is one set under way.
type flight struct {
	cancel  context.CancelFunc
	waiters int
	done    chan struct{}
	paths   []string
	err     error

	mu       sync.Mutex
	progress progress
	// trouble is why nothing comes at the moment. Empty: something does.
	trouble string
}

func newFetcher(cfg Config, client *http.Client) *fetcher {
	return &fetcher{
		http: client, dirs: cfg.WeightsDirs, lowWater: cfg.LowWaterBytes, times: cfg.Times, log: cfg.Logger,
		flights: map[string]*flight{}, checked: map[string]checkedFile{},
	}
}

// get returns the absolute paths of a set's files, in its order, once all of
// them are there and right. Told is called with progress, and with why nothing
// comes if so, now and then, from the caller's goroutine. An error is a *failure, or ctx's.
func (f *fetcher) get(ctx context.Context, w wanted, told func(p inventory.Fetch, trouble string)) ([]string, error) {
	if len(w.files) == 0 {
		return nil, nil
	}
	key := w.key()
	fl := f.join(key, w)
	defer f.leave(key, fl)
	tick := time.NewTicker(max(f.times.Look, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-fl.done:
			return fl.paths, fl.err
		case <-tick.C:
			told(fl.snapshot(w))
		}
	}
}

func (f *fetcher) join(key string, w wanted) *flight {
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
		fl.paths, fl.err = f.fetch(ctx, key, w, fl)
		f.mu.Lock()
		if f.flights[key] == fl {
			delete(f.flights, key)
		}
		f.mu.Unlock()
		close(fl.done)
	}()
	return fl
}

func (f *fetcher) leave(key string, fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl.waiters--; fl.waiters == 0 {
		fl.cancel()
		if f.flights[key] == fl {
			delete(f.flights, key)
		}
	}
}

func (f *fetcher) fetch(ctx context.Context, key string, w wanted, fl *flight) ([]string, error) {
	if w.local() {
		return f.inPlace(ctx, w)
	}
	root, unlock, err := f.open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer unlock()
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

// open makes the set's folder and locks it: an agent that is being replaced may
// still write there. The lock dies with its holder, so none is ever left behind.
func (f *fetcher) open(ctx context.Context, key string) (*os.Root, func(), error) {
	dir := filepath.Join(f.dirs[0], key)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, diskFailure(err, dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, diskFailure(err, dir)
	}
	lock, err := root.OpenFile(".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		_ = root.Close()
		return nil, nil, diskFailure(err, dir)
	}
	release := func() { _ = lock.Close(); _ = root.Close() }
	for {
		held, err := durable.TryLock(lock)
		if err != nil {
			release()
			return nil, nil, diskFailure(err, dir)
		}
		if held {
			return root, release, nil
		}
		select {
		case <-ctx.Done():
			release()
			return nil, nil, ctx.Err()
		case <-time.After(f.times.Look):
		}
	}
}

// room refuses to fill the disk: a full one stops more than a download.
func (f *fetcher) room(dir string, need int64) error {
	total, free, known := diskRoom(dir)
	if !known {
		return nil
	}
	low := f.lowWater
	if low == 0 {
		low = min(total/10, 50<<30)
	}
	if free-max(need, 0) >= low {
		return nil
	}
	return fullDisk(fmt.Sprintf("the disk of %s has %s free, %s are to come and %s are kept free; remove weights that are not used, or name another folder",
		dir, size(free), size(max(need, 0)), size(low)))
}

// fullDisk is a failure that mends itself: once there is room, what was fetched
// is gone on with.
func fullDisk(text string) *failure {
	e := failed(protocol.CauseDisk, text)
	e.again = true
	return e
}

func diskFailure(err error, dir string) error {
	if durable.Full(err) {
		return fullDisk(fmt.Sprintf("the disk of %s is full (%v); remove weights that are not used, or name another folder", dir, err))
	}
	var f *failure
	if errors.As(err, &f) || errors.Is(err, context.Canceled) {
		return err
	}
	return failed(protocol.CauseFetch, fmt.Sprintf("the folder of weights cannot be used: %v; check its owner and its disk", err))
}

func size(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
