package inventory

import "errors"

var (
	// ErrNotFound says that no node has that id.
	ErrNotFound = errors.New("inventory: no such node")
	// ErrStale says that what was decided rests on an older version; look
	// again and decide anew.
	ErrStale = errors.New("inventory: the node has changed meanwhile")
	// ErrState says that the node's state forbids it.
	ErrState = errors.New("inventory: the node's state forbids this")
	// ErrInvalid says that what was asked for makes no sense, and why.
	ErrInvalid = errors.New("inventory: not valid")
	// ErrNoHold says that the domain is not held.
	ErrNoHold = errors.New("inventory: no such hold")
)
