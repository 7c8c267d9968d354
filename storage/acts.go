package storage

import (
	"encoding/json"
	"net/netip"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// What follows is the one wording of the audit log: every store notes its
// writes with these, so that a log reads the same whatever keeps it.

// ActPutModel is a definition written. before nil: it is new.
func ActPutModel(before *catalog.Model, after *catalog.Model) Act {
	return Act{Action: "models.put", Object: "model:" + string(after.Name), Before: orNil(before), After: after}
}

// ActDeleteModel is a definition removed.
func ActDeleteModel(before *catalog.Model) Act {
	return Act{Action: "models.delete", Object: "model:" + string(before.Name), Before: before}
}

// ActPutNode is a node's settings written. before nil: they are new.
func ActPutNode(before, after *inventory.NodeSettings) Act {
	return Act{Action: "nodes.put", Object: "node:" + string(after.Node), Before: orNil(before), After: after}
}

// ActDeleteNode is a node forgotten and its certificates revoked. before nil: it
// had certificates only.
func ActDeleteNode(id inventory.NodeID, before *inventory.NodeSettings, revoked time.Time) Act {
	return Act{Action: "nodes.delete", Object: "node:" + string(id), Before: orNil(before), After: noted{RevokedAt: revoked.UTC()}}
}

// ActPutHold is a place held. before nil: it was not.
func ActPutHold(before, after *inventory.Hold) Act {
	return Act{Action: "holds.put", Object: "hold:" + after.Domain.String(), Before: orNil(before), After: after}
}

// ActDeleteHold is a place released.
func ActDeleteHold(before *inventory.Hold) Act {
	return Act{Action: "holds.delete", Object: "hold:" + before.Domain.String(), Before: before}
}

// ActAuthority is the cluster's authority kept for the first time.
func ActAuthority() Act { return Act{Action: "authority.create", Object: "authority"} }

// ActCertificate is a certificate issued.
func ActCertificate(c inventory.Certificate) Act {
	return Act{Action: "certificates.issue", Object: "certificate:" + c.Serial, After: noted{
		Node: c.Node, CreatedAt: c.IssuedAt.UTC(), ExpiresAt: c.ExpiresAt.UTC(),
	}}
}

// ActCreateJoinToken is a join token made.
func ActCreateJoinToken(t inventory.JoinToken) Act {
	return Act{Action: "tokens.join.create", Object: "join-token:" + t.ID, After: joinNote(t)}
}

// ActRevokeJoinToken is a join token taken back.
func ActRevokeJoinToken(t inventory.JoinToken, at time.Time) Act {
	after := joinNote(t)
	after.RevokedAt = at.UTC()
	return Act{Action: "tokens.join.revoke", Object: "join-token:" + t.ID, Before: joinNote(t), After: after}
}

// ActUseJoinToken is a node that joined. before is the token as it was.
func ActUseJoinToken(before inventory.JoinToken, node inventory.NodeID, at time.Time) Act {
	after := before
	after.UsedBy, after.UsedAt = node, at
	return Act{Action: "nodes.join", Object: "node:" + string(node), Before: joinNote(before), After: joinNote(after)}
}

// JoinAuthor is who acts when a token is used: whoever held it.
func JoinAuthor(token string) inventory.Author { return inventory.Author{Principal: "join:" + token} }

// AuthorityAuthor is who acts when the authority is made.
func AuthorityAuthor() inventory.Author { return inventory.Author{Principal: "system:enrolment"} }

// NodeAuthor is who acts when a node asks for a certificate.
func NodeAuthor(id inventory.NodeID) inventory.Author {
	return inventory.Author{Principal: "node:" + string(id)}
}

// ActCreateKey is a client key made.
func ActCreateKey(k *Key) Act {
	return Act{Action: "keys.create", Object: "key:" + k.ID, After: keyNote(k)}
}

// ActRevokeKey is a client key revoked.
func ActRevokeKey(before *Key, at time.Time) Act {
	after := keyNote(before)
	after.RevokedAt = at.UTC()
	return Act{Action: "keys.revoke", Object: "key:" + before.ID, Before: keyNote(before), After: after}
}

// ActCreateAdminToken is an admin token made.
func ActCreateAdminToken(t *AdminToken) Act {
	return Act{Action: "tokens.admin.create", Object: "admin-token:" + t.ID, After: adminNote(t)}
}

// ActRevokeAdminToken is an admin token revoked.
func ActRevokeAdminToken(before *AdminToken, at time.Time) Act {
	after := adminNote(before)
	after.RevokedAt = at.UTC()
	return Act{Action: "tokens.admin.revoke", Object: "admin-token:" + before.ID, Before: adminNote(before), After: after}
}

// ActRecord is an act that changes no row. Texts that are no JSON are kept as
// strings; empty ones are none.
func ActRecord(object, before, after string) Act {
	return Act{Action: "audit.record", Object: object, Before: raw(before), After: raw(after)}
}

func raw(text string) any {
	switch {
	case text == "":
		return nil
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return text
}

// noted is what the log says of keys, tokens and certificates. It has no room
// for a hash, so none can slip in.
type noted struct {
	ID        string           `json:"id,omitempty"`
	Name      string           `json:"name,omitempty"`
	Role      Role             `json:"role,omitempty"`
	Project   string           `json:"project,omitempty"`
	User      string           `json:"user,omitempty"`
	Node      inventory.NodeID `json:"node,omitempty"`
	CreatedBy string           `json:"created_by,omitempty"`
	CreatedAt time.Time        `json:"created_at,omitzero"`
	ExpiresAt time.Time        `json:"expires_at,omitzero"`
	RevokedAt time.Time        `json:"revoked_at,omitzero"`
	UsedBy    inventory.NodeID `json:"used_by,omitempty"`
	UsedAt    time.Time        `json:"used_at,omitzero"`
	Models    *[]string        `json:"models,omitempty"`
	CIDRs     *[]netip.Prefix  `json:"cidrs,omitempty"`
}

func keyNote(k *Key) noted {
	n := noted{
		ID: k.ID, Name: k.Name, Project: k.Project, User: k.User,
		CreatedAt: k.CreatedAt.UTC(), ExpiresAt: k.ExpiresAt.UTC(), RevokedAt: k.RevokedAt.UTC(),
	}
	if k.Models != nil {
		n.Models = &k.Models
	}
	if k.CIDRs != nil {
		n.CIDRs = &k.CIDRs
	}
	return n
}

func adminNote(t *AdminToken) noted {
	return noted{
		ID: t.ID, Name: t.Name, Role: t.Role, CreatedBy: t.CreatedBy,
		CreatedAt: t.CreatedAt.UTC(), ExpiresAt: t.ExpiresAt.UTC(), RevokedAt: t.RevokedAt.UTC(),
	}
}

func joinNote(t inventory.JoinToken) noted {
	return noted{
		ID: t.ID, CreatedBy: t.CreatedBy, CreatedAt: t.CreatedAt.UTC(), ExpiresAt: t.ExpiresAt.UTC(),
		UsedBy: t.UsedBy, UsedAt: t.UsedAt.UTC(),
	}
}

// orNil turns a typed nil into none.
func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return p
}
