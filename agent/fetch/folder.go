package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"llmgw.io/llmgw/internal/durable"
)

// open makes the set's folder and locks it: an agent that is being replaced may
// still write there. The lock dies with its holder, so none is ever left behind.
func (f *Fetcher) open(ctx context.Context, key string) (*os.Root, func(), error) {
	dir := filepath.Join(f.cfg.Dir, key)
	for {
		root, release, err := f.tryOpen(dir)
		if err != nil || root != nil {
			return root, release, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(f.cfg.Look):
		}
	}
}

// tryOpen gives nothing when somebody else has the lock, or has just removed the
// folder that was locked.
func (f *Fetcher) tryOpen(dir string) (*os.Root, func(), error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, diskFailure(err, dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, diskOrNil(ignoreGone(err), dir)
	}
	lock, err := root.OpenFile(lockName, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		_ = root.Close()
		return nil, nil, diskOrNil(ignoreGone(err), dir)
	}
	release := func() { _ = lock.Close(); _ = root.Close() }
	held, err := durable.TryLock(lock)
	if err != nil {
		release()
		return nil, nil, diskFailure(err, dir)
	}
	if !held || !stillAt(lock, filepath.Join(dir, lockName)) {
		release()
		return nil, nil, nil
	}
	return root, release, nil
}

// ignoreGone drops an error that says that the folder was removed just now.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// stillAt reports whether a file is the one that a path leads to.
func stillAt(file *os.File, path string) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(ours, there)
}

// room refuses to fill the disk: a full one stops more than a download.
func (f *Fetcher) room(dir string, need int64) error {
	total, free, known := diskRoom(dir)
	if !known {
		return nil
	}
	low := f.cfg.LowWaterBytes
	if low == 0 {
		low = min(total/10, 50<<30)
	}
	if free-max(need, 0) >= low {
		return nil
	}
	return fullDisk(fmt.Sprintf("the disk of %s has %s free, %s are to come and %s are kept free; remove weights that are not used, or name another folder",
		dir, size(free), size(max(need, 0)), size(low)))
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
