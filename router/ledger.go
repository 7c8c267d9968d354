package router

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"llmgw.io/llmgw/storage"
)

// How rows are kept and shipped.
const (
	syncEvery   = 10 * time.Millisecond
	syncRows    = 64
	shipEvery   = 500 * time.Millisecond
	shipRows    = 1000
	shipBackOff = 30 * time.Second
	// segmentBytes bounds a segment that grows while the store is away.
	segmentBytes = 4 << 20
	// rowsInMemory bounds the rows kept at hand; others are read from their file.
	rowsInMemory = 10_000
	lastShip     = 5 * time.Second
)

// ledger keeps a row of every request until the store has it.
//
// record writes the row into a file before the client sees the end of its
// answer: a process that is killed loses no row of an answer that was whole.
// 10 ms or 64 rows later at most it is on its way to the disk, and that much a
// machine that loses its power may lose.
type ledger struct {
	usage  Usage
	dir    string // empty: nothing is written ahead
	limit  int64
	logger *slog.Logger

	mu      sync.Mutex
	scratch []byte
	active  *segment
	closed  []*segment // oldest first
	next    uint64
	bytes   int64 // of all files
	held    int   // rows in memory
	lost    int64
	noFile  bool // the last try to write ahead failed; said once
	fresh   bool // a file was made that the folder may not hold after a crash
	disk    disk

	toSync, toShip chan struct{} // one place each: something is there
}

func newLedger(c *Config) (*ledger, error) {
	l := &ledger{
		usage: c.Usage, dir: c.Dir, limit: c.Limits.Unshipped, logger: c.Logger,
		active: &segment{}, toSync: make(chan struct{}, 1), toShip: make(chan struct{}, 1),
	}
	if l.dir == "" {
		return l, nil
	}
	left, next, err := leftSegments(l.dir)
	if err != nil {
		return nil, err
	}
	l.closed, l.next = left, next
	for _, s := range left {
		l.bytes += s.size
	}
	return l, nil
}

// record keeps a row. It does not fail: a row that cannot be written ahead is
// kept in memory, and one for which there is no room is counted.
func (l *ledger) record(row *storage.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	onDisk := l.write(row)
	if !onDisk && l.held >= rowsInMemory {
		l.lost++
		if l.lost&(l.lost-1) == 0 { // the first, and then ever more rarely
			l.logger.Warn("a row of usage is lost: the store is away and there is no room to keep it", "lost", l.lost)
		}
		return
	}
	l.active.partial = l.active.partial || !onDisk
	l.active.rows = append(l.active.rows, *row)
	l.held++
	if n := len(l.active.rows); n == 1 || n == shipRows {
		poke(l.toShip)
	}
	if l.active.size >= segmentBytes {
		l.rotate()
		poke(l.toSync)
	}
}

// write puts the row into the active file and reports whether it stands there.
func (l *ledger) write(row *storage.Request) bool {
	if l.dir == "" || l.bytes >= l.limit {
		return false
	}
	if err := l.open(); err != nil {
		l.trouble(err)
		return false
	}
	s := l.active
	l.scratch = appendFrame(l.scratch[:0], row)
	n, err := l.disk.write(s.file, l.scratch)
	if err != nil {
		// What follows half a frame could not be read: end the file before it.
		l.trouble(errors.Join(err, s.file.Truncate(s.size), seek(s)))
		return false
	}
	l.noFile = false
	s.size += int64(n)
	l.bytes += int64(n)
	if s.dirty++; s.dirty == 1 && time.Since(l.disk.began) >= syncEvery {
		if began, _ := l.background(); began {
			return true
		}
	}
	if s.dirty == 1 || s.dirty == syncRows {
		poke(l.toSync)
	}
	return true
}

func seek(s *segment) error {
	_, err := s.file.Seek(s.size, 0)
	return err
}

func (l *ledger) open() error {
	if l.active.file != nil {
		return nil
	}
	s, err := createSegment(l.dir, l.next)
	for errors.Is(err, fs.ErrExist) { // two processes share the folder
		l.next++
		s, err = createSegment(l.dir, l.next)
	}
	if err != nil {
		return err
	}
	l.next++
	l.fresh = true
	s.rows, s.partial = l.active.rows, l.active.partial
	l.active = s
	return nil
}

func (l *ledger) trouble(err error) {
	if !l.noFile {
		l.logger.Error("usage cannot be written ahead; rows stay in memory until the store has them", "err", err)
	}
	l.noFile = true
}

// rotate closes the active segment, to be shipped. Rows beyond what memory may
// hold stay in their file.
func (l *ledger) rotate() {
	s := l.active
	if len(s.rows) == 0 && s.size == 0 {
		return
	}
	if l.held > rowsInMemory && s.size > 0 && !s.partial {
		l.held -= len(s.rows)
		s.rows = nil
	}
	l.closed = append(l.closed, s)
	l.active = &segment{}
}

// run syncs and ships until the context ends, and then ships once more.
func (l *ledger) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { l.runSync(ctx) })
	wg.Go(func() { l.runShip(ctx) })
	wg.Wait()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastShip)
	defer cancel()
	if err := l.ship(end); err != nil {
		l.logger.Warn("the last rows of usage did not reach the store; they are sent at the next start", "err", err)
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits and reports whether the context still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
