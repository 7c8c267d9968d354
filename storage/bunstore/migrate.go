package bunstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/storage"
)

type migrationRow struct {
	bun.BaseModel `bun:"table:schema_migrations"`

	Version   int    `bun:"version,pk"`
	Name      string `bun:"name"`
	AppliedAt int64  `bun:"applied_at"`
}

// Migrate brings the schema up to date, one transaction for each step, which is
// marked in that transaction. Repeating it is harmless.
func (s *Store) Migrate(ctx context.Context) error {
	all, err := s.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	from := 0
	for _, m := range all {
		if !m.AppliedAt.IsZero() {
			from = m.Version
			continue
		}
		if err := s.step(ctx, m, m.up, mark); err != nil {
			return fmt.Errorf("migration %d (%s): %w", m.Version, m.Name, err)
		}
	}
	if from < len(all) {
		s.log.InfoContext(ctx, "schema migrated", "from", from, "to", len(all))
	}
	return nil
}

// MigrateDown takes the schema back to a version; zero is an empty store. What
// only later versions keep is lost.
func (s *Store) MigrateDown(ctx context.Context, to int) error {
	all, err := s.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	if to < 0 || to > len(all) {
		return fmt.Errorf("%w: there is no schema version %d; the versions are 0 to %d", storage.ErrInvalid, to, len(all))
	}
	for _, m := range slices.Backward(all[to:]) {
		if m.AppliedAt.IsZero() {
			continue
		}
		if err := s.step(ctx, m, m.down, unmark); err != nil {
			return fmt.Errorf("take migration %d (%s) back: %w", m.Version, m.Name, err)
		}
	}
	s.log.InfoContext(ctx, "schema taken back", "to", to)
	return nil
}

// MigrationStatus lists every migration this version knows, in order. A schema
// that is newer answers an error that matches ErrNewer.
func (s *Store) MigrationStatus(ctx context.Context) ([]Migration, error) {
	all, err := loadMigrations(migrationFiles, s.dialect.migrations)
	if err != nil {
		return nil, err
	}
	var rows []migrationRow
	err = s.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := s.holdSchema(ctx, tx); err != nil {
			return err
		}
		const table = `CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)`
		if _, err := tx.ExecContext(ctx, table); err != nil {
			return err
		}
		return tx.NewSelect().Model(&rows).Order("version").Scan(ctx)
	})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Version > len(all) {
			newest := rows[len(rows)-1].Version
			return nil, fmt.Errorf("%w: %s has schema %d, and this version knows %d; run the version that wrote it, or take the schema back with it: llmgw-control migrate down --to %d",
				storage.ErrNewer, s.dialect.place, newest, len(all), len(all))
		}
		all[r.Version-1].AppliedAt = instant(r.AppliedAt)
	}
	return all, nil
}

// checkSchema refuses a schema that is newer than what is known here.
func (s *Store) checkSchema(ctx context.Context) error {
	_, err := s.MigrationStatus(ctx)
	return err
}

// step runs one file and keeps the books, both or neither.
func (s *Store) step(ctx context.Context, m Migration, file string, book func(context.Context, bun.Tx, Migration) error) error {
	return s.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := s.holdSchema(ctx, tx); err != nil {
			return err
		}
		// Another process may have made the step since it was looked for.
		applied, err := tx.NewSelect().Model((*migrationRow)(nil)).Where("version = ?", m.Version).Exists(ctx)
		if err != nil || applied == m.AppliedAt.IsZero() {
			return err
		}
		if _, err := tx.ExecContext(ctx, file); err != nil {
			return err
		}
		return book(ctx, tx, m)
	})
}

// holdSchema keeps others from migrating until the transaction ends.
func (s *Store) holdSchema(ctx context.Context, tx bun.Tx) error {
	if s.dialect.lockSchema == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, s.dialect.lockSchema)
	return err
}

func mark(ctx context.Context, tx bun.Tx, m Migration) error {
	_, err := tx.NewInsert().Model(&migrationRow{Version: m.Version, Name: m.Name, AppliedAt: nanos(time.Now())}).Exec(ctx)
	return err
}

func unmark(ctx context.Context, tx bun.Tx, m Migration) error {
	_, err := tx.NewDelete().Model((*migrationRow)(nil)).Where("version = ?", m.Version).Exec(ctx)
	return err
}
