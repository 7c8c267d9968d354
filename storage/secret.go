package storage

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// Prefixes of the secrets that people hold. The id that follows has 10 letters
// of base32, so the first separator after it ends it.
const (
	keyPrefix   = "sk-llmgw-"
	adminPrefix = "llmgw-adm-"
	idLength    = 10
)

// Pepper is the secret under which keys and tokens are hashed. It lives in a
// file of mode 0600, never in the store, so that a copy of the store alone
// opens nothing.
type Pepper []byte

// NewPepper makes one of 32 random bytes.
func NewPepper() Pepper {
	p := make(Pepper, 32)
	rand.Read(p)
	return p
}

// Hash is HMAC-SHA256 of a whole key or token, in hex: what is kept of it.
func (p Pepper) Hash(secret string) string { return hex.EncodeToString(p.mac(secret)) }

// Matches compares a presented secret with a kept hash, in constant time.
func (p Pepper) Matches(secret, hash string) bool {
	return subtle.ConstantTimeCompare([]byte(p.Hash(secret)), []byte(hash)) == 1
}

// EngineKey is the key of a replica's engine. It is derived, so that no store
// holds it and a control plane that comes back knows it still; a replica's id is
// never used twice, so a new replica has a new key.
func (p Pepper) EngineKey(replica string) string {
	return base64.RawURLEncoding.EncodeToString(p.mac("engine-key\x00" + replica))
}

func (p Pepper) mac(s string) []byte {
	m := hmac.New(sha256.New, p)
	m.Write([]byte(s))
	return m.Sum(nil)
}

// NewKeySecret makes a client key: its id, and the whole key that is shown once.
func NewKeySecret() (id, secret string) {
	id = newID()
	return id, keyPrefix + id + "-" + newSecret()
}

// NewAdminSecret makes an admin token: its id, and the whole token that is
// shown once.
func NewAdminSecret() (id, secret string) {
	id = newID()
	return id, adminPrefix + id + "_" + newSecret()
}

// KeyID reads the id out of a client key. ok is false for anything that has not
// the form of one, which needs no look-up to be refused.
func KeyID(secret string) (id string, ok bool) { return idOf(secret, keyPrefix, '-') }

// AdminTokenID reads the id out of an admin token.
func AdminTokenID(secret string) (id string, ok bool) { return idOf(secret, adminPrefix, '_') }

func idOf(secret, prefix string, sep byte) (string, bool) {
	rest, ok := strings.CutPrefix(secret, prefix)
	if !ok || len(rest) != idLength+1+base64.RawURLEncoding.EncodedLen(32) || rest[idLength] != sep {
		return "", false
	}
	return rest[:idLength], true
}

// newID is 10 lower-case letters and digits of base32, 50 random bits.
func newID() string { return strings.ToLower(rand.Text()[:idLength]) }

func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}
