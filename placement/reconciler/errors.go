package reconciler

import "errors"

var (
	// ErrNoModel says that no model has that name.
	ErrNoModel = errors.New("reconciler: no such model")
	// ErrNoReplica says that no replica has that id.
	ErrNoReplica = errors.New("reconciler: no such replica")
)
