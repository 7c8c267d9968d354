package bunstore

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"llmgw.io/llmgw/storage"
)

// busyTimeout is how long a connection waits for another process that reads or
// writes the file, a backup for one.
const busyTimeout = 5000 // milliseconds

func sqliteDialect(path string) dialect {
	return dialect{
		kind:       "sqlite",
		place:      path,
		migrations: "migrations/sqlite",
		binds:      true,
		classify:   func(err error) error { return classifySQLite(path, err) },
	}
}

// openSQLite takes the file's lock and opens it.
func (s *Store) openSQLite(cfg Config) error {
	path, err := parseDSN(cfg.DSN)
	if err != nil {
		return err
	}
	if cfg.Connections <= 0 {
		cfg.Connections = 4
	}
	s.dialect = sqliteDialect(path)
	if s.lock, err = lockFile(path); err != nil {
		return err
	}
	if s.rw, s.ro, err = connectSQLite(path, cfg.Connections); err != nil {
		return errors.Join(err, s.lock.release())
	}
	return nil
}

// connectSQLite opens one connection that writes and some that read. With one
// writer nobody waits in SQLite's own busy loop, which is neither fair nor
// ended by a context.
func connectSQLite(path string, readers int) (rw, ro *bun.DB, err error) {
	if err := makeFile(path); err != nil {
		return nil, nil, err
	}
	w, err := sql.Open("sqlite", sqliteDSN(path, true))
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w: %s", path, storage.ErrUnavailable, err.Error())
	}
	w.SetMaxOpenConns(1)
	r, err := sql.Open("sqlite", sqliteDSN(path, false))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open %s: %w: %s", path, storage.ErrUnavailable, err.Error()), w.Close())
	}
	r.SetMaxOpenConns(readers)
	r.SetMaxIdleConns(readers)
	return bun.NewDB(w, sqlitedialect.New()), bun.NewDB(r, sqlitedialect.New()), nil
}

// makeFile makes the database's file, readable by its owner only: it holds the
// authority's key. SQLite gives the files beside it the same mode.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the store's file: %w: %w", storage.ErrUnavailable, err)
	}
	return f.Close()
}

func sqliteDSN(path string, write bool) string {
	p := filepath.ToSlash(path)
	if p[0] != '/' {
		p = "/" + p // a drive's letter
	}
	q := url.Values{"_pragma": {
		"busy_timeout(" + strconv.Itoa(busyTimeout) + ")",
		"journal_mode(WAL)",
		// Acknowledged is on the disk: money and audit share this connection,
		// and one rule for all is a rule that holds.
		"synchronous(FULL)",
		"foreign_keys(1)",
		"journal_size_limit(67108864)",
	}}
	if write {
		q.Set("_txlock", "immediate")
	} else {
		q.Add("_pragma", "query_only(1)")
	}
	return "file://" + (&url.URL{Path: p}).EscapedPath() + "?" + q.Encode()
}

func classifySQLite(path string, err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return nil
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: the disk that holds %s is full; free some space there, and the store goes on by itself", storage.ErrFull, path)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return fmt.Errorf("%w: %s may not be written; look at its owner and at how its file system is mounted", storage.ErrReadOnly, path)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %s is damaged; stop the control plane and bring back a backup", storage.ErrCorrupt, path)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w: another program keeps %s locked; end it", storage.ErrUnavailable, path)
	}
	return fmt.Errorf("%w: %s answers: %s", storage.ErrUnavailable, path, e.Error())
}
