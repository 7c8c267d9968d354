package auth

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrMissing says that no credential was sent, or none of a kind that is
	// accepted.
	ErrMissing = errors.New("auth: no credential was sent")
	// ErrRefused says that the credential is not valid. It does not say why:
	// unknown, wrong, revoked and expired look the same from outside.
	ErrRefused = errors.New("auth: the token is not valid")
)

// ThrottledError refuses an address that failed too often.
type ThrottledError struct {
	// RetryAfter is when the address may try again.
	RetryAfter time.Duration
}

// Error says how long to wait.
func (e *ThrottledError) Error() string {
	return fmt.Sprintf("auth: too many failed credentials from this address; try again in %s", e.RetryAfter)
}
