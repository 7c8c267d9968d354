package catalog

import "llmgw.io/llmgw/inventory"

// Change is a set of optional edits to one definition. Nil fields are left as
// they are; all that are set are validated and made together, or none.
type Change struct {
	// Replace is a whole new definition of the same name.
	Replace *Model
	// Scaling replaces min, max and the idle timeout.
	Scaling *Scaling
	// Class replaces the capacity class.
	Class *Class
	// Owner replaces the owner; empty clears it.
	Owner *string
	// Resources replaces what profiles reserve of their hosts.
	Resources *Resources
}

// Resources are reservations of one profile, or of all of them.
type Resources struct {
	// Profile is the profile's name. Empty: every profile.
	Profile string
	// MemoryGB (GiB) and CPUCores replace what a shard reserves. Zero: nothing
	// is reserved.
	MemoryGB int
	CPUCores int
}

// Author is who changes a definition.
type Author = inventory.Author
