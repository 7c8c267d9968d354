package router

import (
	"os"
	"time"

	"llmgw.io/llmgw/internal/durable"
)

// way is durable.Background.
type way interface {
	Sync(f, folder *os.File) (began bool, err error)
	Write(f *os.File, p []byte) (int, error)
	Close()
}

// disk is how rows get there while nobody waits.
type disk struct {
	// way is nil where the system has none, and before and after run: then run
	// waits for the disk itself.
	way    way
	folder *os.File  // where new files are found; nil: not opened
	off    bool      // the way turned out to be none
	began  time.Time // when rows were last sent on their way
}

// openDisk finds a way. That there is none is no trouble.
func (l *ledger) openDisk() {
	if l.dir == "" {
		return
	}
	way, err := durable.OpenBackground()
	if err != nil {
		return
	}
	folder, err := os.Open(l.dir)
	if err != nil {
		way.Close()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.disk.way, l.disk.folder = way, folder
}

// closeDisk waits for what is on its way.
func (l *ledger) closeDisk() {
	l.mu.Lock()
	way, folder := l.disk.way, l.disk.folder
	l.disk.way, l.disk.folder = nil, nil
	l.mu.Unlock()
	if way != nil {
		way.Close()
		_ = folder.Close() // it was read only
	}
}

// write writes as the file does.
func (d *disk) write(f *os.File, b []byte) (int, error) {
	if d.way == nil {
		return f.Write(b)
	}
	return d.way.Write(f, b)
}

// background sends the active file's rows on their way to the disk, and reports
// whether it did; busy is a disk that has not taken yet what was sent before. The
// lock is held.
func (l *ledger) background() (began, busy bool) {
	d := &l.disk
	if d.way == nil || d.off || l.active.dirty == 0 {
		return false, false
	}
	var folder *os.File
	if l.fresh {
		folder = d.folder
	}
	began, err := d.way.Sync(l.active.file, folder)
	switch {
	case began:
		l.unsynced(err) // what was sent before
		l.active.dirty, l.fresh, d.began = 0, false, time.Now()
	case err != nil:
		d.off = true
		l.logger.Info("usage is brought to the disk by waiting for it, since the system does not do it by itself", "err", err)
	}
	return began, !began && err == nil
}
