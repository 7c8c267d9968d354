package catalog

import (
	"context"
	"log/slog"
)

// ServiceConfig is what a Service needs.
type ServiceConfig struct {
	// Store keeps models added over the API. Nil: nothing can be added, and
	// Add, Change and Remove answer ErrNoStore.
	Store Store
	// Declared models come from the configuration file and are read-only.
	Declared []Model
	// Logger nil is silent.
	Logger *slog.Logger
}

// Service is the one that changes the catalog: it validates, writes to the
// store and publishes a new index. It may be used by any number of goroutines
// at once.
type Service struct{}

// NewService loads the store and validates everything whole.
func NewService(ctx context.Context, cfg ServiceConfig) (*Service, error) { panic("not built yet") }

// Index is the newest index. It never blocks.
func (s *Service) Index() *Index { panic("not built yet") }

// Changed returns a channel that is closed at the next change. Take it before
// the index.
func (s *Service) Changed() <-chan struct{} { panic("not built yet") }

// Add validates and keeps a new definition.
func (s *Service) Add(ctx context.Context, m Model, by Author) (Entry, error) {
	panic("not built yet")
}

// Change edits a definition. expected nil takes whatever revision it has; else
// another revision answers ErrStale.
func (s *Service) Change(ctx context.Context, name Name, c Change, expected *int64, by Author) (Entry, error) {
	panic("not built yet")
}

// Remove drops a definition that no other one names.
func (s *Service) Remove(ctx context.Context, name Name, expected *int64, by Author) error {
	panic("not built yet")
}

// Reload replaces the declared models, whole or not at all, and says what
// changed, one line each.
func (s *Service) Reload(declared []Model) (changes []string, err error) { panic("not built yet") }
