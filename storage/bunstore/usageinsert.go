package bunstore

import (
	"context"
	"database/sql"
	"reflect"
	"strings"

	"github.com/uptrace/bun"
)

// usageInsert writes rows of usage. Without statements it is bun's: one text with
// all values in it, which is best where the database is elsewhere. SQLite reads
// such a text for longer than it writes the rows, so there the statements are
// prepared once and get their values bound.
type usageInsert struct {
	many, one *sql.Stmt
	columns   func(row *usageRow, to []any) []any
}

// usageAtOnce is how many rows one prepared statement writes; the rest of a batch
// is written row by row.
const usageAtOnce = 16

// usageInsert gives what writes usage here. Statements are prepared before the
// transaction, which has the only connection.
func (s *Store) usageInsert(ctx context.Context) (*usageInsert, error) {
	if !s.dialect.binds {
		return &usageInsert{}, nil
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	s.inserting.Lock()
	defer s.inserting.Unlock()
	if s.inserts != nil {
		return s.inserts, nil
	}
	in, err := prepareUsage(ctx, s.rw)
	if err != nil {
		return nil, s.translate(ctx, err)
	}
	s.inserts = in
	return in, nil
}

func prepareUsage(ctx context.Context, db *bun.DB) (*usageInsert, error) {
	fields := db.Table(reflect.TypeFor[usageRow]()).Fields
	names, marks := make([]string, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		names[i], marks[i] = string(f.SQLName), "?"
	}
	one := "(" + strings.Join(marks, ", ") + ")"
	prepare := func(rows int) (*sql.Stmt, error) {
		all := strings.TrimSuffix(strings.Repeat(one+", ", rows), ", ")
		return db.DB.PrepareContext(ctx, `INSERT INTO usage_rows (`+strings.Join(names, ", ")+`) VALUES `+all+` ON CONFLICT (id) DO NOTHING`)
	}
	in := &usageInsert{columns: func(row *usageRow, to []any) []any {
		v := reflect.ValueOf(row).Elem()
		for _, f := range fields {
			to = append(to, f.Value(v).Interface())
		}
		return to
	}}
	var err error
	if in.one, err = prepare(1); err != nil {
		return nil, err
	}
	if in.many, err = prepare(usageAtOnce); err != nil {
		_ = in.one.Close() // the other error is the one to tell
		return nil, err
	}
	return in, nil
}

// do writes rows in a transaction; those whose request id is there already change
// nothing.
func (in *usageInsert) do(ctx context.Context, tx bun.Tx, rows []usageRow) error {
	if in.one == nil {
		for len(rows) > 0 {
			n := min(len(rows), usageChunk)
			chunk := rows[:n]
			if _, err := tx.NewInsert().Model(&chunk).On("CONFLICT (id) DO NOTHING").Exec(ctx); err != nil {
				return err
			}
			rows = rows[n:]
		}
		return nil
	}
	// The driver has a goroutine watch a context that may end, for each statement.
	// Each is short, so that ctx is asked between them.
	calm := context.WithoutCancel(ctx)
	many, one := tx.StmtContext(calm, in.many), tx.StmtContext(calm, in.one) //nolint:sqlclosecheck // the end of the transaction closes them
	var values []any
	for len(rows) > 0 {
		n, stmt := 1, one
		if len(rows) >= usageAtOnce {
			n, stmt = usageAtOnce, many
		}
		values = values[:0]
		for i := range rows[:n] {
			values = in.columns(&rows[i], values)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := stmt.ExecContext(calm, values...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}
