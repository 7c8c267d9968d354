package storage

import "time"

// AuditEvent is one change, with who made it.
type AuditEvent struct {
	Seq       int64
	At        time.Time
	Principal string
	Claimed   string
	Action    string
	// Object names what was changed: "model:tiny", "node:a1".
	Object string
	// Before and After are JSON of the row, secrets left out. Empty: none.
	Before, After string
	RequestID     string
	Reason        string
	// Hash is SHA-256 over the previous event's hash and this one's content, in
	// hex; see [AuditEvent.Follow].
	Hash string
}

// AuditLimit is how many events a listing returns that names no limit.
const AuditLimit = 500

// AuditQuery narrows a listing. The zero value asks for the newest 500.
type AuditQuery struct {
	// Before is a sequence number; only older events are returned. Zero: all.
	Before int64
	// Limit zero means 500.
	Limit int
	// Object and Principal match whole. Empty: any.
	Object    string
	Principal string
}
