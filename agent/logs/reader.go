package logs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Query says what of a log is read.
type Query struct {
	// Tail is how many of the last lines are read first. Zero: all, with what was put
	// aside. Negative: none.
	Tail int
	// Follow goes on with what is written later.
	Follow bool
	// Look is between two looks for more. Zero: 500 ms.
	Look time.Duration
}

// Open opens a log to be read, an engine's or the agent's. One that is followed
// ends with ctx, and its Close ends a read of it.
func Open(ctx context.Context, path string, q Query) (io.ReadCloser, error) {
	start, err := tailStart(path, q.Tail)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &reader{ctx: ctx, cancel: cancel, path: path, follow: q.Follow, look: q.Look}
	if r.look == 0 {
		r.look = 500 * time.Millisecond
	}
	if q.Tail == 0 {
		r.older = olderLogs(path)
	}
	if err := r.open(start); err != nil {
		cancel()
		return nil, err
	}
	return r, nil
}

// olderLogs are those that were put aside, oldest first.
func olderLogs(path string) []string {
	var out []string
	for n := engineFiles - 1; n > 0; n-- {
		if _, err := os.Stat(numbered(path, n)); err == nil {
			out = append(out, numbered(path, n))
		}
	}
	return out
}

// tailStart is where the last n lines of a file begin. Zero lines: at its start;
// fewer: at its end.
func tailStart(path string, n int) (int64, error) {
	if n == 0 {
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
	if n < 0 {
		return end, nil
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

// reader reads older files, then the present one, and goes on with it while
// it is followed. A log that was cut is read from its new beginning.
type reader struct {
	ctx    context.Context //nolint:containedctx // a reader has no other way to hear of it
	cancel context.CancelFunc
	path   string
	older  []string
	follow bool
	look   time.Duration

	mu sync.Mutex // Close comes while it is read
	f  *os.File
	at int64
}

func (r *reader) open(at int64) error {
	f, err := os.Open(r.path)
	if err == nil {
		r.f, r.at = f, at
	}
	return err
}

// Read is io.Reader's.
func (r *reader) Read(p []byte) (int, error) {
	for {
		if n, err := r.more(p); n > 0 || err != nil {
			return n, err
		}
		if !r.follow {
			return 0, io.EOF
		}
		select {
		case <-r.ctx.Done():
			return 0, io.EOF
		case <-time.After(r.look):
		}
		if err := r.turn(); err != nil {
			return 0, err
		}
	}
}

// more reads what is there. Nothing, and no error: that was all so far.
func (r *reader) more(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, err := r.readOlder(p); n > 0 || err != nil {
		return n, err
	}
	n, err := r.f.ReadAt(p, r.at)
	if r.at += int64(n); n > 0 || errors.Is(err, io.EOF) {
		return n, nil
	}
	return 0, err
}

// turn goes to the beginning of a log that was cut, and to the new file of one that
// was renamed. What was written between the last look and that is in the old one.
func (r *reader) turn() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine, err := r.f.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Stat(r.path); err == nil && !os.SameFile(mine, now) && mine.Size() <= r.at {
		old := r.f
		if err := r.open(0); err != nil {
			return nil // it is just being made
		}
		return old.Close()
	}
	if mine.Size() < r.at {
		r.at = 0
	}
	return nil
}

// readOlder reads the files that were put aside, each once. At most 20 MiB are
// held, and only while somebody reads.
func (r *reader) readOlder(p []byte) (int, error) {
	for len(r.older) > 0 {
		f, err := os.Open(r.older[0])
		if err == nil {
			n, _ := f.ReadAt(p, r.at) // its end, or what cannot be read
			_ = f.Close()
			if r.at += int64(n); n > 0 {
				return n, nil
			}
		}
		r.older, r.at = r.older[1:], 0
	}
	return 0, nil
}

// Close ends the reading.
func (r *reader) Close() error {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.f.Close()
}
