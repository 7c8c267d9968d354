package view

import (
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// Key is a client key. Its secret is shown once, when it is made.
type Key struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Project   string    `json:"project"`
	User      string    `json:"user,omitempty"`
	Prefix    string    `json:"prefix" doc:"how the key begins, to tell it apart"`
	CreatedAt time.Time `json:"created_at,omitzero" doc:"absent: the configuration file declares the key and does not say"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	LastUsed  time.Time `json:"last_used,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	Models    []string  `json:"models,omitempty" doc:"absent: every model"`
	CIDRs     []string  `json:"cidrs,omitempty" doc:"absent: from anywhere"`
	Declared  bool      `json:"declared,omitempty" doc:"from the configuration file, so read-only here"`
	Secret    string    `json:"key,omitempty" doc:"the whole key; only in the answer that makes it"`
}

// KeyRequest asks for a client key.
type KeyRequest struct {
	Name      string    `json:"name"`
	Project   string    `json:"project,omitempty" doc:"absent: default"`
	User      string    `json:"user,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero" doc:"absent: never"`
	Models    []string  `json:"models,omitempty" doc:"absent: every model"`
	CIDRs     []string  `json:"cidrs,omitempty" doc:"absent: from anywhere"`
}

// AdminToken lets people use this API. Its secret is shown once, when it is
// made.
type AdminToken struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	Token     string    `json:"token,omitempty" doc:"the whole token; only in the answer that makes it"`
}

// AdminTokenRequest asks for an admin token.
type AdminTokenRequest struct {
	Name      string    `json:"name"`
	Role      string    `json:"role" doc:"viewer, operator or owner"`
	ExpiresAt time.Time `json:"expires_at,omitzero" doc:"absent: never"`
}

// JoinToken lets one machine join, once. Its secret is shown once, when it is
// made.
type JoinToken struct {
	ID        string    `json:"id"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	UsedBy    string    `json:"used_by,omitempty" doc:"the node that joined with it"`
	UsedAt    time.Time `json:"used_at,omitzero"`
	Token     string    `json:"token,omitempty" doc:"the whole token; only in the answer that makes it"`
}

// Revoked says what was revoked.
type Revoked struct {
	Revoked string `json:"revoked"`
}

// KeyOf builds one key, without its secret.
func KeyOf(k storage.Key) Key {
	v := Key{
		ID: k.ID, Name: k.Name, Project: k.Project, User: k.User, Prefix: "sk-llmgw-" + k.ID, CreatedAt: utc(k.CreatedAt),
		ExpiresAt: utc(k.ExpiresAt), LastUsed: utc(k.LastUsed), RevokedAt: utc(k.RevokedAt), Models: k.Models, Declared: k.Declared,
	}
	for _, c := range k.CIDRs {
		v.CIDRs = append(v.CIDRs, c.String())
	}
	return v
}

// AdminTokenOf builds one token, without its secret.
func AdminTokenOf(t storage.AdminToken) AdminToken {
	return AdminToken{
		ID: t.ID, Name: t.Name, Role: string(t.Role), CreatedBy: t.CreatedBy, CreatedAt: utc(t.CreatedAt),
		ExpiresAt: utc(t.ExpiresAt), RevokedAt: utc(t.RevokedAt),
	}
}

// JoinTokenOf builds one token, without its secret.
func JoinTokenOf(t inventory.JoinToken) JoinToken {
	return JoinToken{
		ID: t.ID, CreatedBy: t.CreatedBy, CreatedAt: utc(t.CreatedAt), ExpiresAt: utc(t.ExpiresAt),
		UsedBy: string(t.UsedBy), UsedAt: utc(t.UsedAt),
	}
}
