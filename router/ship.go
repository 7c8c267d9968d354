package router

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"
)

// runSync puts on the disk what was written, 10 ms or 64 rows after the first.
func (l *ledger) runSync(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			l.sync()
			return
		case <-l.toSync:
		}
		select {
		case <-ctx.Done():
		case <-l.toSync:
		case <-time.After(syncEvery):
		}
		l.sync()
	}
}

// sync syncs the active file, and closes those that get no more rows.
func (l *ledger) sync() {
	var over []*os.File
	l.mu.Lock()
	for _, s := range l.closed {
		if s.file != nil {
			over = append(over, s.file)
			s.file = nil
		}
	}
	current := l.active.file
	if l.active.dirty == 0 {
		current = nil
	}
	l.active.dirty = 0
	fresh := l.fresh
	l.fresh = false
	l.mu.Unlock()

	var errs []error
	for _, f := range over {
		errs = append(errs, f.Sync(), f.Close())
	}
	if current != nil {
		// It may have been shipped and closed meanwhile; then all is well.
		if err := current.Sync(); !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if fresh {
		syncFolder(l.dir)
	}
	if err := errors.Join(errs...); err != nil {
		l.logger.Warn("usage written ahead may not be on the disk yet", "err", err)
	}
}

// syncFolder makes new files findable after a crash. Not every system can, and
// one that cannot needs no complaint ten times a second.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync() // as said above
		f.Close()
	}
}

// runShip sends rows to the store, half a second or 1,000 rows after the first.
func (l *ledger) runShip(ctx context.Context) {
	if len(l.closed) > 0 {
		poke(l.toShip)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.toShip:
		}
		select {
		case <-ctx.Done():
			return
		case <-l.toShip:
		case <-time.After(shipEvery):
		}
		wait := time.Second
		for err := l.ship(ctx); err != nil; err = l.ship(ctx) {
			l.logger.Warn("usage does not reach the store; rows are kept until it answers", "err", err)
			if !pause(ctx, wait) {
				return
			}
			wait = min(2*wait, shipBackOff)
		}
	}
}

// ship sends everything there is, oldest first, and forgets what the store has.
func (l *ledger) ship(ctx context.Context) error {
	l.mu.Lock()
	l.rotate()
	work := slices.Clone(l.closed)
	l.mu.Unlock()
	for _, s := range work {
		rows, torn, err := s.load()
		if err != nil {
			return err
		}
		if torn {
			l.logger.Warn("a file of usage ends in half a row; what stood before it is kept", "rows", len(rows))
		}
		for rows := range slices.Chunk(rows, shipRows) {
			if err := l.usage.AppendUsage(ctx, rows); err != nil {
				return err
			}
		}
		l.drop(s)
	}
	return nil
}

// drop forgets a segment whose rows the store has.
func (l *ledger) drop(s *segment) {
	l.mu.Lock()
	l.closed = slices.DeleteFunc(l.closed, func(c *segment) bool { return c == s })
	l.bytes -= s.size
	l.held -= len(s.rows)
	file := s.file
	s.file = nil
	l.mu.Unlock()
	if file != nil {
		_ = file.Close() // it is removed next
	}
	if err := s.remove(); err != nil {
		l.logger.Warn("rows that the store has will be sent again at the next start", "err", err)
	}
}
