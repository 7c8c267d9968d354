package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Fingerprint is a stable hash of everything about a profile and its model's
// weights that a running replica depends on, reservations included. A replica
// placed from another fingerprint is shown stale and never moved by itself.
func Fingerprint(m *Model, p *Profile) string {
	c := *p
	c.Endpoints = nil
	b, err := json.Marshal(struct {
		Source   string
		Files    []File
		Adapters []Adapter
		Profile  Profile
	}{m.Source, m.Files, m.Adapters, c})
	if err != nil {
		panic("catalog: a profile does not encode: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}
