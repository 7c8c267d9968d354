package pki

import "errors"

// Errors that callers tell apart. Each one met in practice is wrapped with the
// sentence that says what was seen and what to do.
var (
	// ErrMalformed means that PEM, a certificate, a key or a request cannot be read.
	ErrMalformed = errors.New("pki: malformed")
	// ErrName means that a cluster, node or router name cannot stand in a certificate.
	ErrName = errors.New("pki: name not allowed")
	// ErrKey means that a public key is of a kind that is not signed.
	ErrKey = errors.New("pki: key not allowed")
	// ErrUntrusted means that a certificate is not one that this cluster gave for this purpose.
	ErrUntrusted = errors.New("pki: not trusted")
	// ErrExpired means that a certificate was good once. A node's may still renew within the grace.
	ErrExpired = errors.New("pki: certificate expired")
	// ErrNotYetValid means that a certificate lies in the future: two clocks disagree.
	ErrNotYetValid = errors.New("pki: certificate not valid yet")
	// ErrToken means that a join token cannot be read.
	ErrToken = errors.New("pki: join token malformed")
)
