package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// ours are the errors that callers may see beside those of a context.
func ours() []error {
	return []error{
		catalog.ErrNotFound, catalog.ErrExists, catalog.ErrStale, inventory.ErrStale,
		storage.ErrNotFound, storage.ErrExists, storage.ErrClosed, storage.ErrExpired, storage.ErrUsed,
		storage.ErrHeld, storage.ErrLost, storage.ErrFenced, storage.ErrTampered, storage.ErrAuthor,
		storage.ErrInvalid, storage.ErrFull, storage.ErrReadOnly, storage.ErrCorrupt, storage.ErrUnavailable,
		storage.ErrInUse, storage.ErrNewer, context.Canceled, context.DeadlineExceeded,
	}
}

// translate turns whatever went wrong into an error of the contract. Only the
// text of a driver's error goes on, never the error itself.
func (s *Store) translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	for _, own := range ours() {
		if errors.Is(err, own) {
			return err
		}
	}
	// A query that is cut off fails in many ways.
	if cut := ctx.Err(); cut != nil {
		return cut
	}
	if errors.Is(err, sql.ErrNoRows) {
		return storage.ErrNotFound
	}
	if told := s.dialect.classify(err); told != nil {
		return told
	}
	return fmt.Errorf("%w: %s: %s", storage.ErrUnavailable, s.dialect.place, err.Error())
}

// ofTheMachine reports whether a write failed for a reason that only a write
// can show to be gone.
func ofTheMachine(err error) bool {
	return errors.Is(err, storage.ErrFull) || errors.Is(err, storage.ErrReadOnly) || errors.Is(err, storage.ErrUnavailable)
}
