package storage

import (
	"net/netip"
	"slices"
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

// Active reports whether the key may be used at a time: neither revoked nor past
// its end.
func (k *Key) Active(now time.Time) bool { return active(k.ExpiresAt, k.RevokedAt, now) }

// Allows reports whether the key may use a model of that name. An empty list
// that is not nil allows none.
func (k *Key) Allows(model string) bool {
	return k.Models == nil || slices.Contains(k.Models, model)
}

// AllowsAddr reports whether the key may be used from an address. An IPv4
// address inside IPv6 counts as IPv4.
func (k *Key) AllowsAddr(a netip.Addr) bool {
	if k.CIDRs == nil {
		return true
	}
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(k.CIDRs, func(p netip.Prefix) bool { return p.Contains(a) })
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

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return slices.Contains(Roles, r) }

// Covers reports whether the role may do what needs another one. A role that
// does not exist covers nothing.
func (r Role) Covers(need Role) bool {
	return r.Valid() && need.Valid() && slices.Index(Roles, r) >= slices.Index(Roles, need)
}

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

// Active reports whether the token may be used at a time.
func (t *AdminToken) Active(now time.Time) bool { return active(t.ExpiresAt, t.RevokedAt, now) }

// active asks a pair of times. A revocation counts whatever its time is: a clock
// that was set back must not open a key again.
func active(expires, revoked, now time.Time) bool {
	return revoked.IsZero() && (expires.IsZero() || now.Before(expires))
}

// The ids of the tenancy that exists from the start, so that a single team
// never sees the tree.
const (
	DefaultOrg     = "default"
	DefaultTeam    = "default"
	DefaultProject = "default"
)
