package inventory

// Author says who changes something, for the audit log. Every write seam takes
// one, and a store writes it in the same transaction as the change.
type Author struct {
	// Principal is the authenticated identity ("token:ops", "config",
	// "system:reconciler"). Empty is refused by stores.
	Principal string `json:"principal"`
	// Claimed is who the caller says acts; a claim, never a credential. Empty
	// means that nobody was named.
	Claimed string `json:"claimed,omitempty"`
	// Reason is free text of the caller. May be empty.
	Reason string `json:"reason,omitempty"`
	// Action names what was asked, as the audit log shows it ("models.scale").
	// Empty lets the store name its own write ("models.put").
	Action string `json:"action,omitempty"`
	// RequestID is the admin request this belongs to. Empty outside of one.
	RequestID string `json:"request_id,omitempty"`
}
