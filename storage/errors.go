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
	// ErrInvalid refuses a row that lacks what makes it one.
	ErrInvalid = errors.New("storage: the row is not complete")
	// ErrFull says that there is no space left where the store lives. Nothing
	// was written, and the store goes on by itself once there is space.
	ErrFull = errors.New("storage: there is no space left")
	// ErrReadOnly says that the store's files may not be written.
	ErrReadOnly = errors.New("storage: the store cannot be written")
	// ErrCorrupt says that what was kept cannot be read any more.
	ErrCorrupt = errors.New("storage: the store is damaged")
	// ErrUnavailable says that the store does not answer as it should.
	ErrUnavailable = errors.New("storage: the store is not available")
	// ErrInUse says that another process has the store's file open.
	ErrInUse = errors.New("storage: another process has the store open")
	// ErrNeedsBase refuses a change in a journal where nothing whole stands before
	// it. Append a base first.
	ErrNeedsBase = errors.New("storage: the journal needs a base before a change")
	// ErrTorn tells of an entry that a journal lost, as the end of a process in
	// the middle of writing leaves it.
	ErrTorn = errors.New("storage: an entry of the journal was cut off and is left out")
	// ErrNewer refuses a store that a newer version has written.
	ErrNewer = errors.New("storage: the store was written by a newer version")
)
