package catalog

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound says that no model has that name.
	ErrNotFound = errors.New("catalog: no such model")
	// ErrExists says that the name is taken.
	ErrExists = errors.New("catalog: the name is taken")
	// ErrReadOnly says that the model is declared in the configuration file.
	ErrReadOnly = errors.New("catalog: the model is declared in the configuration file")
	// ErrStale says that the definition has changed since it was read.
	ErrStale = errors.New("catalog: the definition has changed since it was read")
	// ErrNoStore says that there is no store to keep a change in.
	ErrNoStore = errors.New("catalog: there is no store, so a change would not survive a restart")
	// ErrInUse says that other models name this one.
	ErrInUse = errors.New("catalog: other models name this one")
)

// InvalidError is one complaint about one field of a definition. Several are
// joined, so that a person sees all of them at once.
type InvalidError struct {
	Model Name
	// Field is the path of the field: "profiles[0].gpu.count".
	Field string
	// Problem is a sentence that ends with the mend where there is one.
	Problem string
	// Conflict says that the definition is well formed but collides with
	// another one (a name, an alias or an adapter).
	Conflict bool
}

// Error is the complaint as a sentence.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("model %q: %s: %s", e.Model, e.Field, e.Problem)
}
