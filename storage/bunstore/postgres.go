package bunstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"llmgw.io/llmgw/storage"
)

func isPostgres(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

func postgresDialect(place string) dialect {
	return dialect{
		kind:       "postgres",
		place:      place,
		migrations: "migrations/postgres",
		classify:   func(err error) error { return classifyPostgres(place, err) },
		again:      lostAgainstOthers,
		// Any number that nobody else uses: it names this lock.
		lockSchema: `SELECT pg_advisory_xact_lock(7813020271)`,
	}
}

// openPostgres prepares a pool; it connects when it is first used.
func (s *Store) openPostgres(cfg Config) error {
	c, err := pgx.ParseConfig(cfg.DSN)
	if err != nil {
		return fmt.Errorf("%w: the store's address is not a URL of PostgreSQL: %s", storage.ErrUnavailable, err.Error())
	}
	if cfg.Connections <= 0 {
		cfg.Connections = 16
	}
	// Statements come with their values in them, each one another: preparing
	// them would cost a round trip and a place in a cache, for nothing.
	c.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	// What bun's quoting rests on.
	c.RuntimeParams["standard_conforming_strings"] = "on"
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "llmgw"
	}
	db := stdlib.OpenDB(*c)
	db.SetMaxOpenConns(cfg.Connections)
	db.SetMaxIdleConns(cfg.Connections)
	s.dialect = postgresDialect(fmt.Sprintf("database %s on %s", c.Database, c.Host))
	s.rw = bun.NewDB(db, pgdialect.New())
	s.ro = s.rw
	return nil
}

// PostgreSQL's own codes of what can be told apart.
const (
	pgDiskFull             = "53100"
	pgReadOnly             = "25006"
	pgDataCorrupted        = "XX001"
	pgIndexCorrupted       = "XX002"
	pgSerializationFailure = "40001"
	pgDeadlock             = "40P01"
)

func classifyPostgres(place string, err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return nil
	}
	switch e.Code {
	case pgDiskFull:
		return fmt.Errorf("%w: the disk of the %s is full; free some space there, and the store goes on by itself", storage.ErrFull, place)
	case pgReadOnly:
		return fmt.Errorf("%w: the %s takes no writes; give the address of the primary", storage.ErrReadOnly, place)
	case pgDataCorrupted, pgIndexCorrupted:
		return fmt.Errorf("%w: the %s says: %s", storage.ErrCorrupt, place, e.Message)
	}
	return fmt.Errorf("%w: the %s answers: %s (%s)", storage.ErrUnavailable, place, e.Message, e.Code)
}

// lostAgainstOthers reports whether a transaction was ended only because others
// ran beside it.
func lostAgainstOthers(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == pgSerializationFailure || e.Code == pgDeadlock)
}
