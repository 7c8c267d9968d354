package releasetest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"

	"golang.org/x/crypto/blake2b"
)

// Pen is a pair of keys.
type Pen struct {
	ID     [8]byte
	secret ed25519.PrivateKey
}

// NewPen makes one.
func NewPen() Pen {
	var p Pen
	_, _ = rand.Read(p.ID[:]) // never fails
	_, p.secret, _ = ed25519.GenerateKey(nil)
	return p
}

// Key is the public key, as minisign prints it.
func (p Pen) Key() string {
	public, _ := p.secret.Public().(ed25519.PublicKey)
	return base64.StdEncoding.EncodeToString(append(append([]byte("Ed"), p.ID[:]...), public...))
}

// Sign is the .minisig file of a file with a trusted comment.
func (p Pen) Sign(file []byte, comment string) []byte {
	sum := blake2b.Sum512(file)
	return p.sign("ED", sum[:], comment)
}

// SignLegacy signs the file itself and not its hash, as minisign did before.
func (p Pen) SignLegacy(file []byte, comment string) []byte { return p.sign("Ed", file, comment) }

func (p Pen) sign(algorithm string, data []byte, comment string) []byte {
	sig := ed25519.Sign(p.secret, data)
	global := ed25519.Sign(p.secret, append(bytes.Clone(sig), comment...))
	return []byte("untrusted comment: made by a test\n" +
		base64.StdEncoding.EncodeToString(append(append([]byte(algorithm), p.ID[:]...), sig...)) + "\n" +
		"trusted comment: " + comment + "\n" + base64.StdEncoding.EncodeToString(global) + "\n")
}
