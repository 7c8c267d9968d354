package router

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"llmgw.io/llmgw/storage"
)

// refusedName is the file of rows that the store refused, one JSON a line.
const refusedName = "refused.jsonl"

// runSync has on the disk what was written, 10 ms or 64 rows after the first.
func (l *ledger) runSync(ctx context.Context) {
	l.openDisk()
	for {
		select {
		case <-ctx.Done():
			l.closeDisk()
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
	if len(over) == 0 {
		if began, busy := l.background(); began || busy {
			l.mu.Unlock()
			if busy {
				poke(l.toSync) // after others, by the next turn
			}
			return
		}
	}
	current := l.active.file
	if l.active.dirty == 0 {
		current = nil
	}
	l.active.dirty = 0
	fresh := l.fresh
	l.fresh = false
	l.disk.began = time.Now()
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
	l.unsynced(errors.Join(errs...))
}

func (l *ledger) unsynced(err error) {
	if err != nil {
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
			poke(l.toSync) // what it did not take is in a file that gets no more rows
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
			if err := l.append(ctx, rows); err != nil {
				return err
			}
		}
		l.drop(s)
	}
	return nil
}

// append sends rows. One that the store refuses for what it is would hold up all
// others for ever: it is looked for by halves, and put aside.
func (l *ledger) append(ctx context.Context, rows []storage.Request) error {
	err := l.usage.AppendUsage(ctx, rows)
	switch {
	case !errors.Is(err, storage.ErrInvalid):
		return err
	case len(rows) > 1:
		half := len(rows) / 2
		return errors.Join(l.append(ctx, rows[:half]), l.append(ctx, rows[half:]))
	}
	l.putAside(&rows[0], err)
	return nil
}

// putAside keeps a row that the store refuses where people find it.
func (l *ledger) putAside(row *storage.Request, why error) {
	l.logger.Error("a row of usage is refused by the store and put aside", "request", row.ID, "file", refusedName, "err", why)
	if l.dir == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(l.dir, refusedName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(append(appendRow(nil, row), '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		l.logger.Error("it could not be put aside either, and is lost", "request", row.ID, "err", err)
	}
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
