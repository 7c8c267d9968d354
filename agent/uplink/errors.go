package uplink

import "errors"

// Errors that callers tell apart.
var (
	// ErrNotJoined says that the data folder holds no identity.
	ErrNotJoined = errors.New("uplink: this machine has not joined a cluster")
	// ErrJoined says that the data folder holds one already.
	ErrJoined = errors.New("uplink: this machine has joined a cluster already")
)
