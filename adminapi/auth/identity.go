package auth

import (
	"slices"

	"llmgw.io/llmgw/storage"
)

// Identity is who calls, once that is certain.
type Identity struct {
	// Principal is what the audit log names: "token:ops".
	Principal string
	Role      storage.Role
}

// Has reports whether the caller may do what the scope stands for.
func (i Identity) Has(s Scope) bool { return slices.Contains(Scopes(i.Role), s) }
