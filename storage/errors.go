package storage

import "errors"

var (
	// ErrNotFound says that there is no such row.
	ErrNotFound = errors.New("storage: no such row")
	// ErrExists says that a row of that id is there already.
	ErrExists = errors.New("storage: the row exists already")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("storage: the store is closed")
	// ErrExpired says that a token's life has ended.
	ErrExpired = errors.New("storage: the token has expired")
	// ErrUsed says that a one-time token was used before.
	ErrUsed = errors.New("storage: the token was used already")
	// ErrHeld says that another process holds the lease.
	ErrHeld = errors.New("storage: another process holds the lease")
	// ErrLost says that the lease is no longer the caller's.
	ErrLost = errors.New("storage: the lease was lost")
	// ErrFenced refuses a write of a leader whose epoch has passed.
	ErrFenced = errors.New("storage: a later leader exists")
	// ErrTampered says that the audit chain does not hold.
	ErrTampered = errors.New("storage: the audit chain is broken")
	// ErrAuthor refuses a write that does not say who makes it.
	ErrAuthor = errors.New("storage: a write needs an author with a principal")
)
