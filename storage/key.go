package storage

import (
	"net/netip"
	"time"
)

// Key is a client key as it is kept: only a hash of its secret.
type Key struct {
	ID      string
	Name    string
	Project string
	User    string
	// Hash is HMAC-SHA256 of the whole key under the pepper, in hex.
	Hash      string
	CreatedAt time.Time
	// ExpiresAt zero means never; RevokedAt zero means not revoked.
	ExpiresAt time.Time
	RevokedAt time.Time
	LastUsed  time.Time
	// Models the key may use. Nil: every model.
	Models []string
	// CIDRs the key may be used from. Nil: anywhere.
	CIDRs []netip.Prefix
	// Declared keys come from the configuration file and are read-only.
	Declared bool
}

// Role is what an admin token may do.
type Role string

// The roles, from the least.
const (
	RoleViewer   Role = "viewer"
	RoleOperator Role = "operator"
	RoleOwner    Role = "owner"
)

// Roles lists every role, as messages show them.
var Roles = []Role{RoleViewer, RoleOperator, RoleOwner}

// AdminToken lets people use the admin API.
type AdminToken struct {
	ID        string
	Name      string
	Role      Role
	Hash      string
	CreatedBy string
	CreatedAt time.Time
	// ExpiresAt zero means never.
	ExpiresAt time.Time
	RevokedAt time.Time
}

// The ids of the tenancy that exists from the start, so that a single team
// never sees the tree.
const (
	DefaultOrg     = "default"
	DefaultTeam    = "default"
	DefaultProject = "default"
)
