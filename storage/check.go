package storage

import (
	"fmt"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// CheckKey answers ErrInvalid for a key that could never be used, or not be
// kept.
func CheckKey(k *Key) error {
	switch {
	case k.ID == "" || k.Hash == "":
		return fmt.Errorf("a key needs an id and a hash: %w", ErrInvalid)
	case !clean(k.ID, k.Name, k.Project, k.User):
		return unclean("key", k.ID)
	}
	return nil
}

// CheckAdminToken answers ErrInvalid for a token that could never be used, or
// not be kept.
func CheckAdminToken(t *AdminToken) error {
	switch {
	case t.ID == "" || t.Hash == "":
		return fmt.Errorf("an admin token needs an id and a hash: %w", ErrInvalid)
	case !t.Role.Valid():
		return fmt.Errorf("%q is not a role; the roles are %v: %w", t.Role, Roles, ErrInvalid)
	case !clean(t.ID, t.Name, t.CreatedBy):
		return unclean("admin token", t.ID)
	}
	return nil
}

// CheckJoinToken answers ErrInvalid for a token that could never be used, or
// not be kept.
func CheckJoinToken(t inventory.JoinToken) error {
	switch {
	case t.ID == "" || t.Hash == "":
		return fmt.Errorf("a join token needs an id and a hash: %w", ErrInvalid)
	case !clean(t.ID, t.CreatedBy):
		return unclean("join token", t.ID)
	}
	return nil
}

// CheckModel answers ErrInvalid for a name under which no definition can be
// kept. What else makes a definition valid is the catalog's to say.
func CheckModel(name catalog.Name) error {
	if name == "" || !clean(string(name)) {
		return fmt.Errorf("%q cannot be the name of a model: %w", name, ErrInvalid)
	}
	return nil
}

// CheckNode answers ErrInvalid for an id that cannot name a node.
func CheckNode(id inventory.NodeID) error {
	if id == "" || !clean(string(id)) {
		return fmt.Errorf("%q cannot be the id of a node: %w", id, ErrInvalid)
	}
	return nil
}

// CheckHold answers ErrInvalid for a hold that cannot be kept.
func CheckHold(h *inventory.Hold) error {
	if _, err := inventory.ParseDomain(h.Domain.String()); err != nil || !clean(h.Domain.Name, h.Reason, h.By) {
		return fmt.Errorf("%q cannot be held: %w", h.Domain, ErrInvalid)
	}
	return nil
}

// CheckUsage answers ErrInvalid for a row that has no request id: it could be
// counted twice.
func CheckUsage(rows []Request) error {
	for i := range rows {
		if rows[i].ID == "" {
			return fmt.Errorf("usage row %d of %d has no request id: %w", i+1, len(rows), ErrInvalid)
		}
	}
	return nil
}

func clean(texts ...string) bool {
	for _, s := range texts {
		if CleanText(s) != s {
			return false
		}
	}
	return true
}

func unclean(what, id string) error {
	return fmt.Errorf("%s %q holds bytes that are no text: %w", what, id, ErrInvalid)
}

// CheckCertificate answers ErrInvalid for a certificate that names no node or
// no serial number.
func CheckCertificate(c inventory.Certificate) error {
	if c.Serial == "" {
		return fmt.Errorf("a certificate needs a serial number: %w", ErrInvalid)
	}
	return CheckNode(c.Node)
}

// CheckHolder answers ErrInvalid for a lease that nobody would hold.
func CheckHolder(holder string) error {
	if holder == "" || !clean(holder) {
		return fmt.Errorf("%q cannot hold a lease: %w", holder, ErrInvalid)
	}
	return nil
}

// CheckTokenLife answers ErrUsed or ErrExpired for a token that admits nobody
// at a time. A use says by whom.
func CheckTokenLife(t inventory.JoinToken, now time.Time) error {
	if !t.UsedAt.IsZero() {
		return fmt.Errorf("node %q joined with join token %q; make a new one: %w", t.UsedBy, t.ID, ErrUsed)
	}
	if !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) {
		return fmt.Errorf("join token %q ended at %s; make a new one: %w", t.ID, t.ExpiresAt.Format(time.RFC3339), ErrExpired)
	}
	return nil
}
