package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"llmgw.io/llmgw/inventory"
)

// Hash is of facts, as it travels in beats and polls. Equal facts have equal
// hashes; it is no secret and proves nothing.
func Hash(f inventory.Facts) string {
	data, err := json.Marshal(f)
	if err != nil {
		// Facts are plain values, which always encode; an empty hash makes
		// them sent again, which is harmless.
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
