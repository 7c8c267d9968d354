package storage

import (
	"context"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// Store is everything durable. Each part is a seam of its own, so that a caller
// asks for no more than it needs.
type Store interface {
	catalog.Store
	inventory.Store
	inventory.HoldStore
	Enrolment
	JoinTokens
	AdminTokens
	Keys
	Usage
	Audit
	Leases
	Lifecycle
}

// Lifecycle is the store as a thing that can be reached and closed.
type Lifecycle interface {
	// Kind is a word for people: "sqlite", "postgres", "memory".
	Kind() string
	// Ping answers nil when the store can be read and written.
	Ping(ctx context.Context) error
	// Close waits for running calls and releases the store; every later call
	// answers ErrClosed.
	Close() error
}

// Enrolment is what the hub keeps of nodes that join.
type Enrolment interface {
	// Authority returns the cluster's CA as PEM. When there is none it is made
	// by the function and kept; of two callers at once both get the one that
	// was kept.
	Authority(ctx context.Context, make func() (certPEM, keyPEM []byte, err error)) (certPEM, keyPEM []byte, err error)
	// UseJoinToken marks the token with this id and hash as used by the node
	// and makes the node known, in one transaction. One that is known already is
	// another machine from then on: its certificates of before use.At are revoked.
	// Errors match ErrNotFound (no such token, or another hash), ErrExpired,
	// ErrUsed.
	UseJoinToken(ctx context.Context, use TokenUse) error
	// KeepCertificate records an issued certificate.
	KeepCertificate(ctx context.Context, c inventory.Certificate) error
	// Revocations returns every revocation, ordered by node.
	Revocations(ctx context.Context) ([]inventory.Revocation, error)
}

// JoinTokens is what people do with join tokens.
type JoinTokens interface {
	CreateJoinToken(ctx context.Context, t inventory.JoinToken, by inventory.Author) error
	// ListJoinTokens returns every token that was not revoked, newest first.
	ListJoinTokens(ctx context.Context) ([]inventory.JoinToken, error)
	RevokeJoinToken(ctx context.Context, id string, by inventory.Author) error
}

// AdminTokens keeps who may use the admin API.
type AdminTokens interface {
	CreateAdminToken(ctx context.Context, t AdminToken, by inventory.Author) error
	ListAdminTokens(ctx context.Context) ([]AdminToken, error)
	// AdminToken finds one by id; ErrNotFound when there is none.
	AdminToken(ctx context.Context, id string) (AdminToken, error)
	RevokeAdminToken(ctx context.Context, id string, by inventory.Author) error
}

// Keys keeps client keys, hashed.
type Keys interface {
	CreateKey(ctx context.Context, k Key, by inventory.Author) error
	// ListKeys returns every key, revoked ones too, ordered by id.
	ListKeys(ctx context.Context) ([]Key, error)
	// Key finds one by id; ErrNotFound when there is none.
	Key(ctx context.Context, id string) (Key, error)
	// RevokeKey sets the time of revocation; repeating it is harmless.
	RevokeKey(ctx context.Context, id string, by inventory.Author) error
}

// Usage keeps a record of every request.
type Usage interface {
	// AppendUsage keeps rows durably before it returns. A row whose request id
	// is there already is left as it is, so repeating is harmless.
	AppendUsage(ctx context.Context, rows []Request) error
	// SumUsage sums by a level since a time, ordered by id.
	SumUsage(ctx context.Context, q UsageQuery) ([]UsageSum, error)
	// Request finds one record; ErrNotFound when there is none (yet).
	Request(ctx context.Context, id string) (Request, error)
}

// Audit is the log of every change, chained by hashes.
type Audit interface {
	// ListAudit returns events newest first.
	ListAudit(ctx context.Context, q AuditQuery) ([]AuditEvent, error)
	// RecordAudit appends an event for an act that changes no row of its own
	// (a restart was ordered).
	RecordAudit(ctx context.Context, by inventory.Author, object, before, after string) error
	// VerifyAudit walks the chain; ErrTampered names the first bad event.
	VerifyAudit(ctx context.Context) error
}

// Leases elect the one control plane that leads.
type Leases interface {
	// Acquire takes the lease when it is free, past its end or already the
	// holder's; the epoch rises with every Acquire, so a process that came back
	// under its old name still fences its former self. Another holder's live
	// lease answers an error that matches ErrHeld and names it.
	Acquire(ctx context.Context, holder string) (Lease, error)
	// Renew extends it; ErrLost when the epoch is no longer current.
	Renew(ctx context.Context, l Lease) (Lease, error)
	// Release gives it up; harmless when it is not held.
	Release(ctx context.Context, l Lease) error
	// Lead returns the handle through which the leader of that epoch writes.
	// Every write through it answers ErrFenced once a later epoch exists.
	Lead(epoch int64) Leader
}

// Leader is the fenced handle of the one that leads.
type Leader interface {
	// LoadAssignments returns what was ordered.
	LoadAssignments(ctx context.Context) (Assignments, error)
	// ChangeAssignments makes all of the change, or none of it.
	ChangeAssignments(ctx context.Context, c AssignmentChange) error
}
