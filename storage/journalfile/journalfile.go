package journalfile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/storage"
)

var _ storage.Journal = (*Journal)(nil)

// Config is what a Journal needs.
type Config struct {
	// Dir is the folder, which is made when it is not there. Required. One process
	// writes there.
	Dir string
	// Retain is how long entries are kept. Default 14 days.
	Retain time.Duration
	// MaxBytes is how much all files may have together; the oldest go first.
	// Default 1 GiB.
	MaxBytes int64
	// FileBytes is from which size on the next base begins another file. Default
	// 4 MiB. A file that is a day old is followed by another one too.
	FileBytes int64
	// SyncEvery is how much time may pass between two appends before the later one
	// waits for the disk: what a loss of power, not of the process, may cost.
	// Default 1 second; negative: every append waits.
	SyncEvery time.Duration
	// Logger nil is silent.
	Logger *slog.Logger
}

// fileLife is after how long the next base begins another file, so that age can
// drop what is old.
const fileLife = 24 * time.Hour

// Journal is a folder of files, open for writing.
type Journal struct {
	cfg Config
	log *slog.Logger

	mu     sync.Mutex
	closed bool
	seq    int64
	// file is nil until a base comes, at first and after a failure.
	file     *os.File
	zip      *gzip.Writer
	buffer   bytes.Buffer
	size     int64
	began    time.Time
	syncedAt time.Time
	dirty    bool
}

// Open opens the journal of a folder, and goes on after what is there. What an
// earlier process left cut off is logged, and left out by reading.
func Open(cfg Config) (*Journal, error) {
	if cfg.Dir == "" {
		return nil, errors.New("journalfile: Config.Dir is missing: give it a folder")
	}
	set(&cfg.Retain, 14*24*time.Hour)
	set(&cfg.MaxBytes, 1<<30)
	set(&cfg.FileBytes, 4<<20)
	set(&cfg.SyncEvery, time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("journalfile: make the folder: %w", err)
	}
	j := &Journal{cfg: cfg, log: cfg.Logger}
	names, err := files(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		if err := j.follow(names[len(names)-1]); err != nil {
			return nil, err
		}
	}
	j.retain(time.Now())
	return j, nil
}

func set[T int64 | time.Duration](v *T, to T) {
	if *v == 0 {
		*v = to
	}
}

// follow learns the last number of the newest file.
func (j *Journal) follow(name string) error {
	j.seq = max(0, firstOf(name)-1)
	for e, err := range readFile(filepath.Join(j.cfg.Dir, name)) {
		if errors.Is(err, storage.ErrTorn) {
			j.log.Warn("the journal's last process ended while it wrote; what was cut off is left out", "err", err)
			j.seq++ // the number that was cut off is not given again
			continue
		}
		if err != nil {
			return fmt.Errorf("journalfile: %w", err)
		}
		j.seq = e.Seq
	}
	// A file without an entry keeps its name, so its number is not free.
	j.seq = max(j.seq, firstOf(name))
	return nil
}

// AppendJournal writes an entry into the newest file.
func (j *Journal) AppendJournal(ctx context.Context, e storage.JournalEntry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.Check(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return storage.ErrClosed
	}
	now := time.Now()
	if e.Kind == storage.JournalBase && j.full(now) {
		if err := j.end(); err != nil {
			j.log.Warn("a journal's file could not be ended; it can be read all the same", "err", err)
		}
	}
	if j.file == nil {
		if e.Kind != storage.JournalBase {
			return storage.ErrNeedsBase
		}
		if err := j.begin(now); err != nil {
			return failed(err)
		}
	}
	j.seq++
	e.Seq = j.seq
	if err := j.write(&e, now); err != nil {
		// The stream may hold half an entry: nothing may follow it.
		j.abandon()
		return failed(err)
	}
	return nil
}

func failed(err error) error {
	if durable.Full(err) {
		return fmt.Errorf("append to the journal: %w: %w", storage.ErrFull, err)
	}
	return fmt.Errorf("append to the journal: %w", err)
}

func (j *Journal) full(now time.Time) bool {
	return j.file != nil && (j.size >= j.cfg.FileBytes || now.Sub(j.began) >= fileLife)
}

// begin makes the next file, and drops what is too old or too much.
func (j *Journal) begin(now time.Time) error {
	for {
		f, err := os.OpenFile(filepath.Join(j.cfg.Dir, nameOf(j.seq+1)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			j.seq++ // one that was begun and has no entry
			continue
		}
		if err != nil {
			return err
		}
		j.file, j.size, j.began = f, 0, now
		break
	}
	j.buffer.Reset()
	j.zip = gzip.NewWriter(&j.buffer)
	j.retain(now)
	return durable.SyncDir(j.cfg.Dir)
}

func (j *Journal) write(e *storage.JournalEntry, now time.Time) error {
	if err := writeEntry(j.zip, e); err != nil {
		return err
	}
	if err := j.zip.Flush(); err != nil {
		return err
	}
	if err := j.spill(); err != nil {
		return err
	}
	j.dirty = true
	if now.Sub(j.syncedAt) < j.cfg.SyncEvery {
		return nil
	}
	j.syncedAt = now
	return j.sync()
}

// spill gives the file what was compressed, in one write.
func (j *Journal) spill() error {
	n, err := j.file.Write(j.buffer.Bytes())
	j.size += int64(n)
	j.buffer.Reset()
	return err
}

func (j *Journal) sync() error {
	if !j.dirty {
		return nil
	}
	j.dirty = false
	return j.file.Sync()
}

// end ends the newest file whole.
func (j *Journal) end() error {
	err := errors.Join(j.zip.Close(), j.spill(), j.sync(), j.file.Close())
	j.file, j.zip = nil, nil
	return err
}

// abandon leaves a file as it is.
func (j *Journal) abandon() {
	_ = j.file.Close()
	j.file, j.zip = nil, nil
}

// Close ends the newest file and waits for the disk. Later appends answer
// storage.ErrClosed; reading goes on.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.file == nil {
		return nil
	}
	return j.end()
}

// ReadJournal walks the files as they are on the disk.
func (j *Journal) ReadJournal(ctx context.Context, since time.Time) iter.Seq2[storage.JournalEntry, error] {
	return readFrom(ctx, j.cfg.Dir, since)
}
