package bunstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/storage"
)

var _ storage.Store = (*Store)(nil)

// Config says where a Store lives.
type Config struct {
	// DSN is the path of a SQLite file, plain or as "sqlite:///path", or the URL
	// of a PostgreSQL database, "postgres://user@host/name". Required. The file
	// is made when it is missing; its folder and a database are not.
	DSN string
	// Connections is how many there may be: to PostgreSQL in all, by default 16;
	// to SQLite those that read beside the one that writes, by default 4.
	Connections int
	// KeepSchema leaves the schema as it is: for the command that migrates.
	// Without it Open brings the schema up to date, and a store that is behind
	// answers ErrUnavailable to whatever needs what it lacks.
	KeepSchema bool
	// Logger nil is silent.
	Logger *slog.Logger
}

// Store keeps everything in a SQL database.
type Store struct {
	dialect dialect
	// rw has the connections that write: one, where the database lets only one
	// write at a time. ro has the readers'; it may be the same.
	rw, ro *bun.DB
	// lock is nil where several processes may use the database.
	lock *fileLock
	log  *slog.Logger

	// mu is held for reading by every call, so that Close waits for them.
	mu     sync.RWMutex
	closed bool
	// ailing remembers that a write failed for a reason of the machine, until
	// Ping has seen one that needs space succeed.
	ailing atomic.Bool
	// inserting guards inserts, which is nil until usage is written.
	inserting sync.Mutex
	inserts   *usageInsert
}

// Open opens a store and, unless the configuration says otherwise, brings its
// schema up to date. Errors match ErrInUse when another process has the file and
// ErrNewer when a newer version has written it.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{log: cfg.Logger}
	open := s.openSQLite
	if isPostgres(cfg.DSN) {
		open = s.openPostgres
	}
	if err := open(cfg); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, !cfg.KeepSchema); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare makes a store that was just opened fit for use.
func (s *Store) prepare(ctx context.Context, migrate bool) error {
	if err := s.checkSchema(ctx); err != nil || !migrate {
		return err
	}
	if err := s.Migrate(ctx); err != nil {
		return err
	}
	if s.lock == nil {
		return nil // others may lead
	}
	return s.endStaleLease(ctx)
}

// Kind is a word for people: "sqlite" or "postgres".
func (s *Store) Kind() string { return s.dialect.kind }

// Ping answers nil when the store can be read and written. It takes the right
// to write and gives it back; after a write that failed for want of space or
// permission it writes, so that it does not answer nil too early.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.read(ctx, func(db bun.IDB) error { return selectOne(ctx, db) }); err != nil {
		return err
	}
	if s.ailing.Load() {
		return s.probe(ctx)
	}
	return s.write(ctx, func(ctx context.Context, tx bun.Tx) error { return selectOne(ctx, tx) })
}

// probeBytes is more than what rows commonly need. On a full disk a small
// change of a row that is there already may well succeed.
const probeBytes = 64 << 10

// probe writes a row that needs space, and removes it in a transaction of its
// own: within one it would never reach the disk.
func (s *Store) probe(ctx context.Context) error {
	err := s.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO probes (id, data) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET data = EXCLUDED.data`,
			make([]byte, probeBytes))
		return err
	})
	if err != nil {
		return err
	}
	err = s.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM probes`)
		return err
	})
	if err == nil {
		s.ailing.Store(false)
	}
	return err
}

func selectOne(ctx context.Context, db bun.IDB) error {
	var one int
	return db.QueryRowContext(ctx, `SELECT 1`).Scan(&one)
}

// Close waits for running calls, releases the file and lets another process
// have it. Every later call answers ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return storage.ErrClosed
	}
	s.closed = true
	if err := errors.Join(s.ro.Close(), s.rw.Close(), s.lock.release()); err != nil {
		return fmt.Errorf("close the store: %w: %s", storage.ErrUnavailable, err.Error())
	}
	return nil
}
