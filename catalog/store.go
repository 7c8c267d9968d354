package catalog

import (
	"context"
	"time"

	"llmgw.io/llmgw/inventory"
)

// Entry is a definition as it is kept: with its revision and its origin.
type Entry struct {
	Model Model
	// Revision guards changes and is shown as the ETag. Declared models have
	// the revision of the configuration they came from, a hash's first 63 bits.
	Revision int64
	// Declared models come from the configuration file and are read-only.
	Declared  bool
	UpdatedAt time.Time
	UpdatedBy string
}

// Store keeps definitions that were added over the API.
//
// Methods may block and may be called at once from many goroutines; returned
// values belong to the caller. Put and Delete write the row and its audit entry
// in one transaction; both answer an error that matches ErrStale when expected
// is not the row's revision, Put with expected zero one that matches ErrExists
// when the row is there, and Delete one that matches ErrNotFound when it is not.
type Store interface {
	// ListModels returns every definition, ordered by name.
	ListModels(ctx context.Context) ([]Entry, error)
	// PutModel writes a definition at an expected revision (zero: it must not
	// exist) and returns it with its new revision.
	PutModel(ctx context.Context, m Model, expected int64, by inventory.Author) (Entry, error)
	// DeleteModel removes a definition at an expected revision.
	DeleteModel(ctx context.Context, name Name, expected int64, by inventory.Author) error
}
