package pki

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const (
	tokenPrefix = "llmgw-join-"
	tokenIDLen  = 10
	secretLen   = 32
	base32Lower = "abcdefghijklmnopqrstuvwxyz234567"
)

// JoinToken lets one machine join: llmgw-join-<id>.<secret>.<pin>. The id finds
// its row, the secret is known to the store by its hash alone, and the pin tells
// the machine which authority to believe.
//
// However it is printed, logged or encoded, the secret stays out; Reveal alone
// gives it. The secret is behind a pointer for that reason: fmt prints the
// unexported fields of a struct without asking them, and a pointer shows nothing.
// So two equal tokens are not ==; compare Hash.
type JoinToken struct {
	id     string
	secret *[secretLen]byte
	pin    string
}

// NewJoinToken makes a token with a fresh id and secret for the authority with that pin.
func NewJoinToken(pin string) (JoinToken, error) {
	if !validPin(pin) {
		return JoinToken{}, fmt.Errorf("%w: the pin must be the authority's, from CA.Pin", ErrToken)
	}
	var id [tokenIDLen]byte
	var secret [secretLen]byte
	if _, err := rand.Read(id[:]); err != nil {
		return JoinToken{}, fmt.Errorf("make a join token: %w", err)
	}
	if _, err := rand.Read(secret[:]); err != nil {
		return JoinToken{}, fmt.Errorf("make a join token: %w", err)
	}
	for i, b := range id {
		id[i] = base32Lower[b%32]
	}
	return JoinToken{id: string(id[:]), secret: &secret, pin: pin}, nil
}

// ParseJoinToken reads a token as a person pastes it. The error says which part
// is wrong and never repeats the text.
func ParseJoinToken(s string) (JoinToken, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), tokenPrefix)
	if !ok {
		return JoinToken{}, fmt.Errorf("%w: it must begin with %q; make one with `llmgw-control token join create`", ErrToken, tokenPrefix)
	}
	parts := strings.Split(rest, ".")
	if len(parts) != 3 {
		return JoinToken{}, fmt.Errorf("%w: it has %d parts between dots where id, secret and pin are wanted; copy the whole line", ErrToken, len(parts))
	}
	t := JoinToken{id: parts[0], pin: parts[2]}
	if len(t.id) != tokenIDLen || strings.Trim(t.id, base32Lower) != "" {
		return JoinToken{}, fmt.Errorf("%w: the id must be %d of a-z and 2-7; copy the whole line", ErrToken, tokenIDLen)
	}
	secret, err := base64.RawURLEncoding.Strict().DecodeString(parts[1])
	if err != nil || len(secret) != secretLen || len(parts[1]) != base64.RawURLEncoding.EncodedLen(secretLen) {
		return JoinToken{}, fmt.Errorf("%w: the secret of token %s must be %d bytes in base64url; it was cut or changed, copy the whole line", ErrToken, t.id, secretLen)
	}
	if !validPin(t.pin) {
		return JoinToken{}, fmt.Errorf("%w: the authority's pin of token %s must be %d bytes in base64url; it was cut or changed, copy the whole line", ErrToken, t.id, sha256.Size)
	}
	t.secret = (*[secretLen]byte)(secret)
	return t, nil
}

// IsZero says whether there is no token.
func (t JoinToken) IsZero() bool { return t.secret == nil }

// ID gives the public part, by which a row is found.
func (t JoinToken) ID() string { return t.id }

// Pin gives the pin of the authority to believe.
func (t JoinToken) Pin() string { return t.pin }

// Reveal gives the whole token: to be shown once to whoever asked for it, or sent to the hub.
func (t JoinToken) Reveal() string {
	if t.IsZero() {
		return ""
	}
	return tokenPrefix + t.id + "." + base64.RawURLEncoding.EncodeToString(t.secret[:]) + "." + t.pin
}

// Hash gives the SHA-256 of the secret, for storing. The secret is random and
// long, so nothing slower is needed.
func (t JoinToken) Hash() [sha256.Size]byte {
	if t.IsZero() {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(t.secret[:])
}

// HashHex gives Hash in lower-case hexadecimal.
func (t JoinToken) HashHex() string {
	h := t.Hash()
	return hex.EncodeToString(h[:])
}

// Matches says, in constant time, whether a stored hash is this token's. No token matches nothing.
func (t JoinToken) Matches(hash [sha256.Size]byte) bool {
	h := t.Hash()
	return !t.IsZero() && subtle.ConstantTimeCompare(h[:], hash[:]) == 1
}

// String gives the token without its secret.
func (t JoinToken) String() string {
	if t.IsZero() {
		return "(no join token)"
	}
	return tokenPrefix + t.id + ".[redacted]"
}

// Format prints String whatever the verb is.
func (t JoinToken) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// LogValue gives String to a log.
func (t JoinToken) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText gives String to encoders, so that a token never travels by accident.
func (t JoinToken) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
