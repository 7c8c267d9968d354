package reconciler

import "errors"

var (
	// ErrNoModel says that no model has that name.
	ErrNoModel = errors.New("reconciler: no such model")
	// ErrNoReplica says that no replica has that id.
	ErrNoReplica = errors.New("reconciler: no such replica")
	// ErrNotLeading says that this process carries out no orders, since another
	// one leads, or none yet. Ask again in a few seconds, or ask the leader.
	ErrNotLeading = errors.New("reconciler: this process does not lead")
)
