package bunstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// enter begins a call; leave ends it.
func (s *Store) enter() error {
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return storage.ErrClosed
	}
	return nil
}

func (s *Store) leave() { s.mu.RUnlock() }

// read runs a look-up beside whoever writes.
func (s *Store) read(ctx context.Context, f func(db bun.IDB) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return s.translate(ctx, f(s.ro))
}

// list reads rows of one kind as what they stand for; which says which, and in
// what order.
func list[R, T any](ctx context.Context, s *Store, which func(*bun.SelectQuery) *bun.SelectQuery, of func(*R) (T, error)) ([]T, error) {
	out := []T{}
	err := s.read(ctx, func(db bun.IDB) error {
		var rows []R
		if err := which(db.NewSelect().Model(&rows)).Scan(ctx); err != nil {
			return err
		}
		for i := range rows {
			v, err := of(&rows[i])
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		return nil
	})
	return out, err
}

// inOrder asks for all rows, ordered.
func inOrder(columns ...string) func(*bun.SelectQuery) *bun.SelectQuery {
	return func(q *bun.SelectQuery) *bun.SelectQuery { return q.Order(columns...) }
}

// sure is for rows that always read.
func sure[R, T any](of func(*R) T) func(*R) (T, error) {
	return func(r *R) (T, error) { return of(r), nil }
}

// readWhole runs several look-ups on one state of the store.
func (s *Store) readWhole(ctx context.Context, f func(ctx context.Context, tx bun.Tx) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return s.translate(ctx, s.ro.RunInTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}, f))
}

// write runs one transaction, whole or not at all.
func (s *Store) write(ctx context.Context, f func(ctx context.Context, tx bun.Tx) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	err := s.translate(ctx, s.runInTx(ctx, f))
	if ofTheMachine(err) {
		s.ailing.Store(true)
	}
	return err
}

// tries is how often a transaction is run that lost against others.
const tries = 8

// runInTx runs a transaction, and again after a pause when it lost against
// others. What f writes outside of the transaction it writes anew each time.
func (s *Store) runInTx(ctx context.Context, f func(ctx context.Context, tx bun.Tx) error) error {
	for try := 1; ; try++ {
		err := s.rw.RunInTx(ctx, nil, f)
		if err == nil || try == tries || s.dialect.again == nil || !s.dialect.again(err) {
			return err
		}
		// Unequal pauses, so that two that collided do not collide again.
		pause := time.Duration(1+rand.IntN(10<<try)) * time.Millisecond
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// change makes one write with its audit event, both or neither. f returns what
// to note; an act without a name says that there was nothing to do.
func (s *Store) change(ctx context.Context, by inventory.Author, f func(ctx context.Context, tx bun.Tx, now time.Time) (storage.Act, error)) error {
	if err := storage.CheckAuthor(by); err != nil {
		return err
	}
	return s.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		now := time.Now().UTC().Round(0)
		act, err := f(ctx, tx, now)
		if err != nil || act.Action == "" {
			return err
		}
		return note(ctx, tx, now, by, act)
	})
}

// The counters' names.
const (
	counterRevision = "revision"
	counterReplica  = "replica"
)

// nextRevision gives out the next revision. It is one counter for all rows, so
// a row that was deleted and made again never has an old revision.
func nextRevision(ctx context.Context, tx bun.Tx) (int64, error) {
	var n int64
	err := tx.QueryRowContext(ctx, `UPDATE counters SET value = value + 1 WHERE name = ? RETURNING value`, counterRevision).Scan(&n)
	return n, err
}

// changed reports whether a statement touched a row.
func changed(res sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode a row: %w: %w", storage.ErrInvalid, err)
	}
	return string(b), nil
}

// decode reads stored JSON. Members it does not know are passed over: an older
// version may read what a newer one wrote.
func decode(what, text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%w: the stored %s cannot be read: %w", storage.ErrCorrupt, what, err)
	}
	return nil
}

// isText reports whether an id could be that of a row: no row has bytes that
// are no text.
func isText(id string) bool { return storage.CleanText(id) == id }
