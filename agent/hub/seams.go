package hub

import (
	"context"
	"errors"
	"time"

	"llmgw.io/llmgw/inventory"
)

// Registry is the live inventory. Neither method blocks.
type Registry interface {
	// Apply takes a report of a node at a time, and makes an unknown node known.
	Apply(id inventory.NodeID, rep inventory.Report, now time.Time)
	Snapshot() *inventory.Snapshot
}

// Enrolment is what is kept of machines that join. Methods may block and may be
// called at once from many goroutines.
type Enrolment interface {
	// UseJoinToken marks the token with this id, and this hash of its secret in
	// hexadecimal, as used by the node and makes the node known, at once or not
	// at all. What a node of that name was given before at is revoked for good. Errors match ErrTokenUnknown (no such token, or another hash),
	// ErrTokenExpired or ErrTokenUsed.
	UseJoinToken(ctx context.Context, id, hash string, node inventory.NodeID, at time.Time) error
	// KeepCertificate records an issued certificate.
	KeepCertificate(ctx context.Context, c inventory.Certificate) error
	// Revocations returns every revocation.
	Revocations(ctx context.Context) ([]inventory.Revocation, error)
}

// Errors of an Enrolment.
var (
	ErrTokenUnknown = errors.New("hub: no such join token")
	ErrTokenExpired = errors.New("hub: the join token has expired")
	ErrTokenUsed    = errors.New("hub: the join token was used already")
)

// Errors of asks and orders.
var (
	// ErrNoNode says that no node has that id.
	ErrNoNode = errors.New("hub: no such node")
	// ErrAway says that the node's agent is not connected.
	ErrAway = errors.New("hub: the node's agent is not connected")
	// ErrRefused says that the agent was asked and refused, or cannot do it.
	ErrRefused = errors.New("hub: the agent refuses")
	// ErrNoLog says that the node does not have the log that was asked for.
	ErrNoLog = errors.New("hub: there is no such log")
	// ErrTimeout says that the agent did not answer in time.
	ErrTimeout = errors.New("hub: the agent did not answer in time")
	// ErrBusy says that the node has as many questions waiting as it may.
	ErrBusy = errors.New("hub: too many questions wait for this node")
	// ErrStale says that a later leader has dispatched already.
	ErrStale = errors.New("hub: a later leader has dispatched already")
)
