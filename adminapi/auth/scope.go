package auth

import "llmgw.io/llmgw/storage"

// Scope is a kind of thing that a caller may do.
type Scope string

// The scopes, from the least.
const (
	// Read sees everything but secrets.
	Read Scope = "read"
	// Operate changes models, nodes and replicas.
	Operate Scope = "operate"
	// Owner manages who may do what: tokens, keys and what they cost.
	Owner Scope = "owner"
	// Secrets sees what opens things: engine keys.
	Secrets Scope = "secrets"
)

// Scopes lists what a role may do, the least first. An unknown role may do
// nothing.
func Scopes(r storage.Role) []Scope {
	switch r {
	case storage.RoleViewer:
		return []Scope{Read}
	case storage.RoleOperator:
		return []Scope{Read, Operate}
	case storage.RoleOwner:
		return []Scope{Read, Operate, Owner, Secrets}
	}
	return nil
}

// LeastRole is the least role that has a scope.
func LeastRole(s Scope) storage.Role {
	switch s {
	case Read:
		return storage.RoleViewer
	case Operate:
		return storage.RoleOperator
	}
	return storage.RoleOwner
}
